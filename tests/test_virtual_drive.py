"""A drive in virtual time gives the figures of a replay, and refuses what it cannot serve."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import flashtwin as ft

PAGE = 4096
OPS = np.array(["read", "write", "trim", "flush"])
SMALL = {
    "nand.channels": 2, "nand.chips_per_channel": 2, "nand.dies_per_chip": 1, "nand.planes_per_die": 1,
    "nand.pages_per_block": 16, "replay.period_s": 0.02,
}  # fmt: skip
#: Keys of drives, of which some are drawn, as far as a system can have them.
KEYS: list[dict[str, Any]] = [
    {"ftl.mapping_cache.bytes": "16K", "ftl.mapping_cache.checkpoint_s": 0.01}, {"engine.write_cache_pages": 24},
    {"engine.write_completes": "buffered"}, {"engine.flush": "volatile"}, {"engine.slots": 6},
    {"engine.link_mb_s": 200.0}, {"replay.queue_limit": 5}, {"engine.controller_us": 3.0}, {"replay.warm_up_s": 0.015},
    {"replay.preload": "footprint"}, {"verify": True}, {"replay.content": "unique"}, {"engine.merge_reads": "same-page"},
]  # fmt: skip


class Case:
    """Requests of a few pages: all pages are written first, then most are on a few, in bursts."""

    def __init__(self, seed: int, count: int = 1_500, pages: int = 600) -> None:
        self.random = random = np.random.default_rng(seed)
        self.pages = pages
        fill = np.arange(0, pages, 4)
        gaps = np.where(
            random.random(count) < 0.9, random.integers(0, 30_000, count), random.integers(0, 900_000, count)
        )
        op = np.concatenate([np.ones(fill.size, int), random.choice(4, count, p=[0.45, 0.45, 0.06, 0.04])])
        start = np.where(
            random.random(count) < 0.7, random.integers(0, 60, count), random.integers(0, pages - 4, count)
        )
        length = random.integers(1, 9, count) * random.choice([512, PAGE, PAGE, PAGE], count) // 2
        offset = start * PAGE + random.choice([0, 0, 0, 512], count)
        self.time_ns = np.concatenate([fill * 0, 400_000 * fill.size + np.cumsum(gaps)])
        self.op = OPS[op]
        self.offset = np.where(op == 3, 0, np.concatenate([fill * PAGE, offset]))
        self.length = np.where(op == 3, 0, np.concatenate([fill * 0 + 4 * PAGE, length]))
        chunks = -(-self.length // PAGE)
        self.content = [
            [int(1000 * random.random() ** 3) for _ in range(many)] if kind == "write" else None
            for kind, many in zip(self.op, chunks, strict=True)
        ]

    @property
    def trace(self) -> ft.Trace:
        columns = {"time_ns": self.time_ns, "op": self.op, "offset_bytes": self.offset, "length_bytes": self.length}
        return ft.Trace.from_frame({**columns, "content": self.content}, name="drive")

    def batches(self) -> Iterator[slice]:
        at = 0
        while at < self.op.size:
            end = at + int(self.random.choice([1, 2, 7, 100, 1000]))
            yield slice(at, end)
            at = end

    def drive(self, system: ft.System, contents: int) -> tuple[ft.Result, pa.Table]:
        """In batches of any size, with time passing in between as it likes."""
        done = []
        with ft.Drive(system, size=self.pages * PAGE, contents=contents, per_request=True) as drive:
            for rows in self.batches():
                stop = int(self.time_ns[rows][0])
                while (next_ns := drive.next_event_ns) is not None and next_ns <= stop and self.random.random() < 0.9:
                    drive.advance(next_ns)
                if self.random.random() < 0.5:
                    drive.advance(int(self.random.integers(drive.now_ns, stop + 1)))
                many = [self.time_ns[rows], self.op[rows], self.offset[rows], self.length[rows]]
                one = len(many[0]) == 1
                ids = drive.submit(*(column[0].item() if one else column for column in many),
                                   self.content[rows][0] if one else self.content[rows])  # fmt: skip
                assert np.atleast_1d(ids).tolist() == list(range(self.op.size))[rows]
                done.append(drive.completed().to_arrow())
                assert (done[-1]["done_ns"].to_numpy() <= drive.now_ns).all()
            return drive.finish(), pa.concat_tables(done)


def possible(name: str, random: np.random.Generator) -> ft.System:
    """A small drive of the system with some of the keys that it can have."""
    system = ft.system(name, settings={**SMALL, "nand.blocks_per_plane": 40 if name != "modern" else 60})
    for place in random.permutation(len(KEYS))[: random.integers(2, 6)]:
        try:
            system = system.with_sets(KEYS[place])
        except ft.ConfigError:
            continue
    return system


@pytest.mark.parametrize("name", ft.systems())
@pytest.mark.parametrize("seed", range(4))
def test_a_trace_handed_in_gives_the_figures_of_its_replay(name: str, seed: int) -> None:
    case = Case(hash_of(name) + seed)
    system = possible(name, case.random)
    replayed = ft.replay(case.trace, system, per_request=True)
    contents = replayed.summary["trace"]["contents"]
    lived, done = case.drive(system, contents)
    expected, found = (pa.table(result.table("requests")) for result in (replayed, lived))
    assert found.equals(expected)
    for one in (replayed, lived):
        del one.summary["trace"]["read_as"]
    assert lived.summary == replayed.summary
    for table in set(replayed.table_names) - {"requests", "request_blocks", "request_block_histogram", "volumes"}:
        assert pa.table(lived.table(table)).equals(pa.table(replayed.table(table))), table
    # Taken meanwhile are the same rows, in the order of completion.
    assert done["done_ns"].to_pylist() == sorted(done["done_ns"].to_pylist())
    rows = {row.pop("request"): row for row in expected.to_pylist()}
    for row in done.to_pylist():
        taken = row.pop("done_ns") - row["arrival_ns"]
        assert taken >= 0 if row["op"] == "trim" else taken == row["response_ns"]
        # The result's table leaves out requests of the warm-up.
        number = row.pop("id")
        assert row == rows.pop(number, row)


def hash_of(name: str) -> int:
    return sum(name.encode()) * 1000
