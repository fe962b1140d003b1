"""What-ifs can be built, or are skipped with the reason; on nearly full drives, too."""

import itertools
import random
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import flashtwin as ft
from flashtwin import cli
from flashtwin.causes.bottlenecks import BOTTLENECKS
from flashtwin.causes.case import key_of
from flashtwin.causes.inquiry import Inquiry
from flashtwin.judgement.catalogue import BY_NAME, CHANGES, Sets
from flashtwin.judgement.goals import Figures, usual_goal
from flashtwin.replays import aged, running
from flashtwin.replays.presets import System

from .scenarios import MS, SMALL, S, Scenario

PAGES = 2000
#: Narrow drives whose blocks are small: 93 % of one is nearly reached.
NARROW: Mapping[str, object] = {**SMALL, "nand.pages_per_block": 8, "replay.preload": "footprint"}


def overwritten(pages: int = PAGES, writes: int = 6000) -> ft.Trace:
    draw = random.Random(10)
    rows = [(S + number * MS, "RW"[number % 3 > 0], draw.randrange(pages)) for number in range(writes)]
    columns = {"time_ns": [row[0] for row in rows], "op": [row[1] for row in rows],
               "offset_bytes": [row[2] * 4096 for row in rows], "length_bytes": [4096] * writes}  # fmt: skip
    return ft.Trace.from_frame(columns, name="overwritten")


#: Counts of a system that does all that anything can be said of.
COUNTS = (
    "pages_programmed", "flash_writes.gc", "erases.total", "flash_writes.replica", "ram.total_bytes",
    "page_ops.pages_hashed", "page_ops.write", "page_ops.read", "mapping_cache.misses", "dedup.duplicates_missed",
    "requests.completed",
)  # fmt: skip


def figures(footprint_pages: int, **more: int) -> Figures:
    """Figures by hand; two underscores stand for a dot."""
    response = {f"response.{kind}.{key}": 1e6 for kind in ("all", "read", "write") for key in ("mean_ns", "count")}
    counts = {**dict.fromkeys(COUNTS, 1000), "completed_ns": S, "trace.footprint_pages": footprint_pages}
    return Figures({**response, **counts, **{key.replace("__", "."): of for key, of in more.items()}}, ledger={})


def inquiry_of(system: System, base: Figures) -> Inquiry:
    return Inquiry(system, usual_goal(system.config["replay"]["queue_depth"]), {(): base})


def what_ifs(inquiry: Inquiry) -> Iterator[tuple[str, Sets, str]]:
    """Each with the reason why it cannot be built."""
    for change in [*BOTTLENECKS, *CHANGES]:
        for level in change.of(inquiry.case):
            made = inquiry.made(level.sets)
            reason = inquiry.failed.get(key_of(level.sets), "")
            assert (made is None) == bool(reason)
            yield f"{change.name}: {level.words}", dict(level.sets), reason


def test_a_drive_at_93_percent_is_explained(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """More dies in whole blocks would have another over-provisioning."""
    overwritten().write_parquet(tmp_path / "over.parquet")
    sets = [word for key, value in NARROW.items() for word in ("--set", f"{key}={value}")]
    line = ["explain", str(tmp_path / "over.parquet"), "--system", "conventional", "--fill", "93%", "--effort", "all"]
    assert cli.run([*line, *sets]) == 0
    out, err = capsys.readouterr()
    assert "raw over-provisioning" in err
    assert "conventional" in out.splitlines()[0]
    skipped = [text for text in out.splitlines() if text.startswith("  Skipped: ")]
    assert any("dies per chip" in text or "times the dies" in text for text in skipped), out


def test_where_a_drive_collects_its_collection_is_changed() -> None:
    found = ft.explain(overwritten(), "conventional", fill=0.9, effort=None, settings=NARROW)["conventional"].data
    assert found["answer"] in ("gc", "erase")
    tried = {key for step in found["steps"] for key in step["sets"]}
    assert {"ftl.wear.policy", "ftl.gc.start", "ftl.gc.stop", "ftl.gc.idle", "nand.blocks_per_plane"} <= tried
    assert any("raw over-provisioning of" in step["words"] for step in found["steps"])


def test_what_cannot_be_built_or_replayed_ends_no_inquiry(monkeypatch: pytest.MonkeyPatch) -> None:
    """The core refuses two steps, one with its configuration and one in the midst of its run; all else is told."""
    run = aged.run

    def refusing(trace: ft.Trace, systems: list[System], *rest: object, **more: object) -> object:
        for system in systems:
            if system.config["ftl"]["wear"]["policy"] == "none":
                raise ft.ConfigError("the device is smaller than the footprint")
            if system.config["ftl"]["gc"]["step_pages"] == 4:
                raise ft.SimError("the controller found no block")
        return run(trace, systems, *rest, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(aged, "run", refusing)
    found = ft.explain(overwritten(), "conventional", fill=0.9, effort=None, settings=NARROW)["conventional"]
    smaller, no_wear = "collection in smaller steps", "no wear levelling: the block erased first is used next"
    assert f"Skipped: {smaller}: the controller found no block." in found.text
    assert f"{no_wear}: the device is smaller than the footprint." in found.text
    assert "did not allow" not in found.text
    assert not {step["words"] for step in found.data["steps"]} & {smaller, no_wear}


#: Drives of any shape; the blocks follow from how full they are to be.
SHAPES = st.fixed_dictionaries(
    {
        "nand.channels": st.sampled_from([1, 2, 3, 8]),
        "nand.chips_per_channel": st.sampled_from([1, 2, 5]),
        "nand.dies_per_chip": st.sampled_from([1, 2, 4]),
        "nand.planes_per_die": st.sampled_from([1, 2, 4]),
        "nand.pages_per_block": st.sampled_from([8, 32, 256]),
        "engine.concurrency": st.sampled_from(["chip", "die", "plane"]),
        "ftl.wear.policy": st.sampled_from(["none", "static"]),
        "ftl.partition.policy": st.sampled_from(["none", "bloom-filters"]),
        "ftl.mapping_cache.bytes": st.sampled_from(["unlimited", 65_536]),
    }
)


def filled_by(one: System, footprint_pages: int, fill: float) -> System:
    """The smallest drive of a kind that pages fill to at most a share; with tables on flash, about that."""
    pages = one.planes * int(one.config["nand"]["pages_per_block"])
    blocks = 1000 - one.capacity_pages // pages + int(footprint_pages / fill / pages)
    while True:
        try:
            made = one.with_sets({"nand.blocks_per_plane": blocks})
            if made.capacity_pages * fill >= footprint_pages:
                return made
        except ft.ConfigError:
            assert blocks < 1000
        blocks += 1


@given(
    shape=SHAPES, fill=st.floats(0.3, 1.0), footprint_pages=st.integers(1, 200_000),
    system=st.sampled_from(["conventional", "ca-ssd", "rr-ssd", "ds-ftl", "modern"]), collects=st.booleans(),
)  # fmt: skip
def test_what_ifs_of_any_drive(
    shape: dict[str, object], fill: float, footprint_pages: int, system: str, collects: bool
) -> None:
    """Each can be built and holds the footprint, more dies with the spare space as it is; or the reason is known."""
    if shape["engine.concurrency"] == "plane":
        shape = {**shape, "engine.multi_plane": "none"}
    one = filled_by(ft.system(system, settings={**shape, "nand.blocks_per_plane": 1000}), footprint_pages, fill)
    counts = {} if collects else {"flash_writes__gc": 0, "erases__total": 0}
    inquiry = inquiry_of(one, figures(footprint_pages, **counts))
    for words, sets, reason in what_ifs(inquiry):
        assert "\n" not in reason
        if reason:
            continue
        made = one.with_sets(sets)
        assert made.capacity_pages >= footprint_pages, words
        if made.planes != one.planes and collects:
            block_a_plane = made.planes * int(made.config["nand"]["pages_per_block"])
            assert 0 <= made.raw_pages - one.raw_pages < block_a_plane, words


@given(fill=st.floats(0.6, 1.0), channels=st.sampled_from([1, 2]), pages_per_block=st.sampled_from([4, 16]))
def test_what_is_not_refused_can_be_replayed(fill: float, channels: int, pages_per_block: int) -> None:
    """The core's own word on it: each drive serves the trace."""
    trace = overwritten(pages=300, writes=400)
    keys = {**SMALL, "nand.channels": channels, "nand.pages_per_block": pages_per_block}
    one = running.fitted(trace, {"one": ft.system("conventional", settings=keys)}, fill)["one"]
    inquiry = inquiry_of(one, figures(300))
    for _, sets, reason in what_ifs(inquiry):
        # Speeds and depths make the same drive.
        if not reason and any(key.startswith(("nand.", "ftl.")) for key in sets):
            assert ft.replay(trace, one.with_sets(sets)).summary["requests"]["completed"] == 400


#: Settings of the engine where two keys exclude one another.
ENGINES = [
    dict(zip(("engine.write_cache_pages", "engine.write_completes", "engine.concurrency", "engine.multi_plane"), values,
             strict=True))
    for values in itertools.product(
        (0, 64), ("programmed", "transferred", "hashed", "buffered"), ("chip", "die", "plane"), ("none", "any-page")
    )
]  # fmt: skip


@pytest.mark.parametrize("name", ft.systems())
def test_nothing_is_proposed_that_the_core_refuses(name: str) -> None:
    """On a drive with room for all: such as a write cache together with writes that complete when hashed."""
    allowed = 0
    for number, engine in enumerate(ENGINES):
        batches = {"engine.collection_batch_us": 9700.0, "ftl.gc.idle": "none"} if number % 5 == 0 else {}
        try:
            one = ft.system(name, settings={**engine, "engine.write_buffer_pages": 16, **batches})
        except ft.ConfigError:
            continue
        allowed += 1
        inquiry = inquiry_of(one, figures(1000))
        assert {words: reason for words, _, reason in what_ifs(inquiry) if reason} == {}
    # The four rules, two of them with the cache, on three kinds of units, of which two know common commands.
    assert allowed == 6 * 5


def test_writes_that_complete_when_hashed_are_predicted_exactly() -> None:
    """Bursts of contents of their own: each is programmed, and most of its time is that."""
    requests = [
        (burst * 5 * MS, "W", burst * 8 + page, 1, burst * 8 + page) for burst in range(60) for page in range(8)
    ]
    trace = Scenario("program", "ca-ssd", tuple(requests)).trace()
    found = ft.explain(trace, "ca-ssd", goal="write.mean", effort=None)["ca-ssd"].data
    step = next(one for one in found["steps"] if "engine.write_completes" in one["sets"])
    assert step["words"] == "writes that complete when hashed, with protected RAM for 4,096 pages"
    assert step["takes"].startswith("16 MiB of power-protected RAM")
    for one in found["steps"]:
        again = ft.replay(trace, "ca-ssd", settings=one["sets"]).summary["response"]["write"]["mean_ns"]
        assert again == one["value"], one["words"]


def test_a_page_map_is_not_told_to_answer_when_hashed() -> None:
    """It hashes nothing, and would answer at once: the gain of a cache is known."""
    one = ft.system("conventional")
    case = inquiry_of(one, figures(1000, page_ops__pages_hashed=0)).case
    assert [level.sets["engine.write_cache_pages"] for level in BY_NAME["write cache"].of(case)] == [4096]
    assert BY_NAME["acknowledgement"].of(case) == []


def test_an_inquiry_without_requests_skips_nothing() -> None:
    one = ft.system("conventional", blocks_per_plane=6)
    silent = replace(figures(10**9), summary={"trace.footprint_pages": 10**9})
    assert inquiry_of(one, silent).skipped() == []


@pytest.mark.parametrize(
    ("is_ordered", "spare", "said"), [(True, 1.25, "pays"), (False, 1.25, "does not pay"), (True, 9.0, "")]
)
def test_volumes_are_kept_apart_where_a_replay_shows_that_it_pays(is_ordered: bool, spare: float, said: str) -> None:
    """A volume written in order or at random, in turn with one at random; the last drive never collects."""
    pages, writes = 600, 12_000
    draw = random.Random(11)
    in_order = (number // 2 % pages if is_ordered and number % 2 == 0 else -1 for number in range(writes))
    places = [draw.randrange(pages) if page < 0 else page for page in in_order]
    columns = {"time_ns": range(0, writes * MS, MS), "op": ["W"] * writes, "volume": [0, 1] * (writes // 2),
               "offset_bytes": [page * 4096 for page in places], "length_bytes": [4096] * writes}  # fmt: skip
    drive = {**NARROW, "nand.channels": 1, "nand.chips_per_channel": 1}
    drive["nand.blocks_per_plane"] = 5 + int(2 * pages * spare) // 8
    trace = ft.Trace.from_frame({name: list(column) for name, column in columns.items()}, name="two")
    found = ft.explain(trace, "conventional", goal="write.mean", settings=drive)["conventional"]
    assert (f"A placement handle for each volume {said}: " in found.verdict.text) == bool(said)
    assert ("--set ftl.partition.policy=volumes`." in found.verdict.reason) == bool(said)
    assert found.verdict.reason.replace("`", "") in found.text
