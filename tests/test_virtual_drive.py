"""A drive in virtual time gives the figures of a replay, and refuses what it cannot serve."""

import signal
import threading
from itertools import pairwise, starmap
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import flashtwin as ft
from flashtwin.replays import presets

PAGE, PAGES = 4096, 600
OPS = np.array(["read", "write", "trim", "flush"])
SMALL = {
    "nand.channels": 2, "nand.chips_per_channel": 2, "nand.dies_per_chip": 1, "nand.planes_per_die": 1,
    "nand.pages_per_block": 16, "nand.blocks_per_plane": 60, "replay.period_s": 0.02,
}  # fmt: skip
#: Keys of drives, of which some are drawn, as far as a system can have them.
KEYS: list[dict[str, Any]] = [
    {"ftl.mapping_cache.bytes": 16_384, "ftl.mapping_cache.checkpoint_s": 0.01}, {"ftl.mapping_cache.bytes": 8_192},
    {"engine.write_cache_pages": 24}, {"engine.read_cache_pages": 24},
    {"engine.write_completes": "buffered"}, {"engine.flush": "none"},
    {"engine.slots": 6}, {"engine.link_mb_s": 200.0}, {"replay.queue_limit": 5}, {"engine.controller_us": 3.0},
    {"replay.warm_up_s": 0.015}, {"replay.preload": "footprint"}, {"verify": True}, {"replay.content": "unique"},
    {"engine.merge_reads": "same-page"}, {"nand.blocks_per_plane": 40}, {"ftl.gc.idle": "reserve"},
    {"nand.page_bytes": 16_384}, {"replay.content": "zipf(0.8,200)"}, {"replay.content": "same-as-address"},
    {"ftl.partition.policy": "streams", "ftl.partition.partitions": 3},
    {"ftl.partition.policy": "sizes", "ftl.partition.sizes": "6K"}, {"replay.mirror": "conventional"},
]  # fmt: skip


def possible(name: str, random: np.random.Generator) -> ft.System:
    system = ft.system(name, settings=SMALL)
    for place in random.permutation(len(KEYS))[: random.integers(2, 6)]:
        if not presets.refusal(system, KEYS[place]):
            system = system.with_sets(KEYS[place])
    return system


def requests(random: np.random.Generator, count: int = 1_500) -> dict[str, Any]:
    """All pages are written first, then most are on a few, in bursts."""
    fill = np.arange(0, PAGES, 4)
    gaps = np.where(random.random(count) < 0.9, random.integers(0, 30_000, count), random.integers(0, 900_000, count))
    op = OPS[np.concatenate([np.ones(fill.size, int), random.choice(4, count, p=[0.45, 0.45, 0.06, 0.04])])]
    start = np.where(random.random(count) < 0.7, random.integers(0, 60, count), random.integers(0, PAGES - 4, count))
    length = random.integers(1, 9, count) * random.choice([512, PAGE, PAGE, PAGE], count) // 2
    offset = np.append(fill * PAGE, start * PAGE + random.choice([0, 0, 0, 512], count))
    length = np.where(op == "flush", 0, np.append(fill * 0 + 4 * PAGE, length))
    values = [[int(1000 * random.random() ** 3) for _ in range(-(-one // PAGE))] for one in length]
    return {
        "time_ns": np.append(fill * 0, 400_000 * fill.size + np.cumsum(gaps)), "op": op,
        "offset_bytes": np.where(op == "flush", 0, offset), "length_bytes": length,
        "content": [one if kind == "write" else None for one, kind in zip(values, op, strict=True)],
        "stream": np.append(fill // 300, random.choice(np.array([0, 1, 2, 3, 300, None]), count)).astype(object),
    }  # fmt: skip


def hand_in(
    drive: ft.Drive, asked: dict[str, Any], random: np.random.Generator, first: int = 0, end: int = 1_650
) -> pa.Table:
    """Requests from `first` to `end`, in batches of any size; time passes in between as it likes."""
    done = []
    ends = np.unique([*random.integers(1, 1_000, 60), *random.integers(1_000, 1_100, 60), end])
    for rows in starmap(slice, pairwise([first, *ends[(ends > first) & (ends <= end)].tolist()])):
        stop = int(asked["time_ns"][rows][0])
        while (next_ns := drive.next_event_ns) is not None and next_ns <= stop and random.random() < 0.9:
            drive.advance(next_ns)
        if random.random() < 0.5:
            drive.advance(int(random.integers(drive.now_ns, stop + 1)))
        columns = [column[rows] for column in asked.values()]
        if len(columns[0]) == 1:
            single = (*(one.item() for one in columns[:4]), columns[4][0], columns[5][0])
            assert drive.submit(*single) == rows.start
        else:
            assert drive.submit(*columns).tolist() == list(range(rows.start, rows.stop))
        done.append(drive.completed().to_arrow())
        assert (done[-1]["done_ns"].to_numpy() <= drive.now_ns).all()
    return pa.concat_tables(done)


def test_all_keys_can_be_drawn() -> None:
    assert all(
        any(not presets.refusal(ft.system(name, settings=SMALL), keys) for name in ft.systems()) for keys in KEYS
    )


@pytest.mark.parametrize("name", ft.systems())
@pytest.mark.parametrize("seed", range(4))
def test_trace_handed_in_gives_the_figures_of_its_replay(name: str, seed: int) -> None:
    random = np.random.default_rng([seed, *name.encode()])
    asked, system = requests(random), possible(name, random)
    replayed = ft.replay(ft.Trace.from_frame(asked, name="drive"), system, per_request=True)
    contents = replayed.summary["trace"]["contents"]
    with ft.Drive(system, size=PAGES * PAGE, contents=contents, per_request=True) as drive:
        done, lived = hand_in(drive, asked, random), drive.finish()
    for one in (replayed, lived):
        del one.summary["trace"]["read_as"]
    assert lived.summary == replayed.summary
    for table in {*replayed.table_names} - {"request_blocks", "request_block_histogram"}:
        assert pa.table(lived.table(table)).equals(pa.table(replayed.table(table))), table
    # Rows taken meanwhile are those of the table, which leaves out the warm-up, in the order of completion.
    assert done["done_ns"].to_pylist() == sorted(done["done_ns"].to_pylist())
    rows = {row.pop("request"): row for row in pa.table(lived.table("requests")).to_pylist()}
    for row in done.to_pylist():
        taken_ns = row.pop("done_ns") - row["arrival_ns"]
        assert taken_ns >= 0 if row["op"] == "trim" else taken_ns == row["response_ns"]
        assert rows.pop(row.pop("id"), row) == row


def finished(drive: ft.Drive, done: list[pa.Table]) -> tuple[Any, ...]:
    """All that can be seen of a drive from now on."""
    result, rows = drive.finish(), pa.concat_tables(done)
    tables = {name: pa.table(result.table(name)).to_pylist() for name in result.table_names}
    return result.summary, tables, rows.sort_by([("done_ns", "ascending"), ("id", "ascending")]).to_pylist()


@pytest.mark.parametrize("name", ft.systems())
@pytest.mark.parametrize("seed", range(3))
def test_snapshot_goes_on_as_its_original_without_one(name: str, seed: int) -> None:
    random = np.random.default_rng([seed, *name.encode(), 1])
    asked, system = requests(random), possible(name, random)
    whole, drive = (ft.Drive(system, size=PAGES * PAGE, contents=20_000) for _ in range(2))
    expected = finished(whole, [hand_in(whole, asked, random)])
    cut = int(random.integers(100, 1_500))
    before = [hand_in(drive, asked, random, 0, cut)]
    while sum(map(len, before)) == cut:  # until requests are under way
        before.append(hand_in(drive, asked, random, cut, cut := cut + 1))
    twins = [drive.snapshot(), drive.snapshot(), drive]
    busy = twins.pop(1)
    busy.submit(busy.now_ns, ["flush"] * 9, 0, 0)
    assert finished(busy, before) != expected
    for twin in twins:
        assert finished(twin, [*before, hand_in(twin, asked, random, cut)]) == expected


def test_times_alone_are_those_of_the_table_with_the_parts() -> None:
    random = np.random.default_rng(4)
    with ft.Drive("rr-ssd", size=PAGES * PAGE, settings=SMALL, contents=20_000) as drive:
        drive.submit(*(column[:1_000] for column in requests(random).values()))
        alone, table = (one.completed(parts=one is drive).to_arrow() for one in (drive.snapshot(), drive))
        assert len(table) > 0
        assert alone.equals(table.select(["id", "done_ns", "response_ns"]))
        assert len(drive.completed(parts=False)) == 0


class Drawn:
    """A chip at random, unless it has been asked for too long."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng, self.calls, self.most = rng, 0, 10**9

    def choose(self, home: int, chips: ft.PolicyTable) -> int:
        self.calls += 1
        assert self.calls < self.most, "too long"
        return int(self.rng.choice(np.flatnonzero(chips.may)))

    def state(self) -> list[int]:
        return [self.calls, self.most]

    def restore(self, state: list[int]) -> None:
        self.calls, self.most = state


class Short(Drawn):
    def restore(self, state: list[int]) -> None:
        self.calls, self.most = state[0], state[0]


class Stateless:
    def choose(self, plane: int, blocks: ft.PolicyTable) -> int:
        return int(np.flatnonzero(blocks.closed)[0])


def test_policies_in_python_are_copied_with_their_state() -> None:
    random = np.random.default_rng(3)
    asked = requests(random)
    for policy in (Drawn, Short):
        system = ft.system("rr-ssd", settings=SMALL, placement=ft.policy("placement")(policy))
        drives = [ft.Drive(system, size=PAGES * PAGE, contents=20_000) for _ in range(2)]
        expected = finished(drives[1], [hand_in(drives[1], asked, random)])
        before = hand_in(drives[0], asked, random, 0, 900)
        twin = drives[0].snapshot()
        if policy is Drawn:
            assert finished(twin, [before, hand_in(twin, asked, random, 900)]) == expected
        else:
            with pytest.raises(ft.ConfigError, match=r"placement policy 'Short'.*too long"):
                finished(twin, [before, hand_in(twin, asked, random, 900)])
        assert finished(drives[0], [before, hand_in(drives[0], asked, random, 900)]) == expected


def test_snapshot_that_cannot_be_made_is_refused_and_changes_nothing() -> None:
    with ft.Drive("conventional", size="1M", per_request=True) as drive:
        with pytest.raises(ft.ArgumentError, match="take its rows from completed, and make the drive without it"):
            drive.snapshot()
        assert drive.submit(0, "write", 0, PAGE) == 0
    with ft.Drive("conventional", size="1M", settings={"ftl.gc.victim": ft.policy("victim")(Stateless)}) as drive:
        with pytest.raises(ft.ConfigError, match="'Stateless' has no `state\\(\\)`"):
            drive.snapshot()
        assert drive.submit(0, "write", 0, PAGE) == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((9, "read", 0, PAGE), "request 0: time_ns is 9, and the clock is at 10 by then: submit in order"),
        (([20, 19], "read", 0, PAGE), "request 1: time_ns is 19, and the clock is at 20"),
        ((20, "reed", 0, PAGE), "op is 'reed': expected one request, 'read', "),
        ((20, "read", 0, 0), "request 0: a read of 0 bytes at 0: expected"),
        ((20, "flush", 0, 5), "request 0: a flush of 5 bytes"),
        ((20, "read", 1 << 20, 1), "request 0: 1 bytes at 1048576 end beyond the drive's 1048576: make it larger"),
        ((20, "write", 0, PAGE), "request 0: a write without content, which 'ca-ssd' looks at: give it, or set"),
        ((20, "write", 0, 2 * PAGE, [1]), "request 0: 1 contents: expected 2, one for each 4096 bytes"),
        (([20, 21], "write", 0, PAGE, [1]), "content has no entry for each of 2 requests"),
        ((20.5, "read", 0, PAGE), "time_ns: .*'float'.*expected whole numbers from 0"),
        ((20, "write", 0, PAGE, b"a", -1), "stream is -1: expected a whole number from 0 to 65,534, or None"),
        (([20, 21], "write", 0, PAGE, [1, 1], [0, 65_535]), "stream is 65535: expected"),
        ((20, "read", -1, PAGE), "offset_bytes: .*expected whole numbers from 0"),
        ((20, "read", 0, 1 << 32), "length_bytes: .*below 2.32"),
        (([20, 21], ["read"] * 3, 0, PAGE), "submit: shape mismatch.*expected one value, or n"),
        ((1 << 61, "read", 0, PAGE), "the clock cannot go to 2305843009213693952: expected 10 .now. to"),
    ],
)
def test_wrong_request_is_refused_and_changes_nothing(arguments: Any, message: str) -> None:
    with ft.Drive("ca-ssd", size="1M", settings=SMALL, period_s=1e9) as drive:
        drive.submit(10, "write", 0, PAGE, b"a")
        with pytest.raises(ft.ArgumentError, match=message):
            drive.submit(*arguments)
        with pytest.raises(ft.ArgumentError, match="the clock cannot go to 9: expected 10"):
            drive.advance(9)
        assert drive.submit(10, "read", 0, PAGE) == 1
        assert drive.finish().summary["requests"]["completed"] == 2
        for call in (drive.finish, drive.completed, lambda: drive.advance(20), lambda: drive.next_event_ns):
            with pytest.raises(ft.SimError, match="the drive is closed, because it was finished"):
                call()


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"speed": 2.0}, "replay.speed is for traces: set it to 1"),
        ({"queue_depth": 4}, "replay.queue_depth is for traces"),
        ({"settings": {"ftl.partition.policy": "offline"}}, "needs later requests"),
        ({"size": "4G"}, "smaller than the footprint"),
        ({"size": 5000}, "size is 5000: expected whole pages"),
        ({"size": "1X"}, "size is '1X'"),
        ({"fill": 2.0}, "fill is 2.0"),
        ({"contents": -1}, "contents: .*expected whole numbers"),
    ],
)
def test_impossible_drive_is_refused(keys: dict[str, Any], message: str) -> None:
    with pytest.raises(ft.FlashtwinError, match=message):
        ft.Drive("conventional", **{"size": "1M", **keys, "settings": {**SMALL, **keys.get("settings", {})}})


def test_more_contents_than_the_drive_knows_are_refused() -> None:
    with (
        ft.Drive("ca-ssd", size="1M", settings=SMALL, contents=2) as drive,
        pytest.raises(ft.ConfigError, match="more than 2 contents were written: make the drive with more"),
    ):
        drive.submit([0, 1, 2], "write", [0, PAGE, 2 * PAGE], PAGE, ["a", "b", "c"])


def test_ctrl_c_ends_a_long_advance() -> None:
    checkpoints = {"ftl.mapping_cache.bytes": 8_192, "ftl.mapping_cache.checkpoint_s": 1e-6, "replay.period_s": 1e9}
    drive = ft.Drive("conventional", size="1M", settings={**SMALL, **checkpoints})
    threading.Timer(0.5, signal.raise_signal, [signal.SIGINT]).start()
    with pytest.raises(KeyboardInterrupt):
        drive.advance(1 << 60)
    with pytest.raises(ft.SimError, match="an earlier call failed"):
        drive.submit(0, "read", 0, PAGE)
