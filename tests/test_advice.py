"""Advice from hand-made numbers: every threshold from both sides, and missing numbers."""

import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from flashtwin.judgement import judging, workload
from flashtwin.judgement.evidence import Evidence
from flashtwin.judgement.verdict import Verdict
from flashtwin.results import rows
from flashtwin.results.reading import StudyFolder
from flashtwin.results.rows import PAGE_SIZES

from . import tiny
from .conftest import Cli

GOOD: dict[str, Any] = {
    "info.writes": 1_000_000,
    "info.reads": 1_000_000,
    "info.has_content": True,
    "info.duplicate_write_percent": 57.6,
    "write_amplification.page_writes": 1_000_000,
    "write_amplification.writes_per_sector_mean": 8.0,
    "partitions_fr3": 6,
    "partitions_fr2": 9,
    "wa_partitions_1": 2.0,
    "wa_fr3": 1.5,
    "overhead_fr3": 0.05,
    **{f"wa_fr3_{size}": 1.5 for size in PAGE_SIZES},
    **{f"ra_{size}": 1.0 + size / 16_384 for size in PAGE_SIZES},
    **{f"read_full_ns_{size}": 10e9 * size / 4_096 for size in PAGE_SIZES},
    "read_partial_ns_16384": 10e9,
    rows.ENTRIES: 11_046,
    rows.SPACE: 48.0,
    "drift.periods": 7,
    "drift.popular_before_percent": 60.0,
    "drift.read_before_percent": 75.0,
    "drift.first_read_percent": 7.0,
    "write_gain_of_waiting": 0.5,
    "write_gain_of_distance": 0.3,
}

TOPICS = ["partitions", "page size", "deduplication", "replication", "waiting"]


def advise(row: dict[str, Any], study: StudyFolder | None = None, trace: str = "TRACE") -> list[Verdict]:
    return judging.advice(judging.judge(Evidence(study, row, trace)))


def on(topic: str, **changes: Any) -> Verdict:
    row = {**GOOD, **{key.replace("__", "."): value for key, value in changes.items()}}
    return next(entry for entry in advise(row) if entry.topic == topic)


def test_always_the_same_topics_in_the_same_order() -> None:
    assert [entry.topic for entry in advise(GOOD)] == TOPICS
    assert [entry.topic for entry in advise({})] == TOPICS


@pytest.mark.parametrize("row", [GOOD, {}, {"info.has_content": False}, {"info.duration_ns": 6e10, "drift.periods": 1}])
def test_every_piece_ends_in_a_key_and_a_command(row: dict[str, Any]) -> None:
    for entry in advise(row, trace="mail.fiu.zst"):
        assert re.search(r"`(ftl|nand|engine|replay)\.[a-z_.]+", entry.action.words), entry
        assert re.match(r"flashtwin (replay|compare|sweep) mail\.fiu\.zst --systems? ", entry.action.command), entry
        assert entry.text.endswith(f"(not replayed): `{entry.action.command}`.")


def test_partitions_are_compared_on_equal_flash() -> None:
    """Alone, a drive with partitions would be larger at the same fill."""
    assert on("partitions").action.command == (
        "flashtwin sweep TRACE --systems conventional --set ftl.partition.policy=none,offline "
        "--set ftl.partition.partitions=6 --set replay.preload=footprint --fill 93% --trade wa,programs"
    )
    both = "policy=none,bloom-filters,offline --set ftl.partition.partitions=2 "
    assert both in on("partitions", partitions_fr3=2).action.command


def test_a_trace_of_one_period_is_cut_into_more() -> None:
    row = {"info.duration_ns": 6e10, "drift.periods": 1}
    entry = next(entry for entry in advise(row) if entry.topic == "replication")
    assert entry.action.command.endswith("--period 5s")


@pytest.mark.parametrize("row", [GOOD, {}, {"info.has_content": False}], ids=["good", "empty", "no contents"])
def test_every_command_can_be_run(row: dict[str, Any], cli: Cli, small_trace: Path) -> None:
    for entry in advise(row, trace=str(small_trace)):
        cli(*shlex.split(entry.action.command)[1:], status=0)


def test_what_is_missing_is_not_guessed() -> None:
    for entry in advise({}):
        assert entry.answer == "unknown"
        assert "is unknown, because" in entry.sentence
        assert not entry.figures


def test_sentences_hold_the_numbers() -> None:
    good = {entry.topic: entry for entry in advise(GOOD)}
    for words in ("6 partitions pay: ", "of 2 with 9", "2.00 with one", "1.50 with these", "25 % less", "5.0%"):
        assert words in good["partitions"].sentence
    assert good["partitions"].figures["saved_percent"] == pytest.approx(25.0)
    # CA-SSD, Fig. 3: 11,046 positions at 28 B each; the paper's 600 KB are those of twice as many.
    assert good["deduplication"].figures["fingerprint_bytes"] == 11_046 * 28
    assert "309,288 B" in good["deduplication"].sentence
    assert "WA 1.50 with 8 KB" in good["page size"].sentence
    assert "RA 1.50 with 8 KB" in good["page size"].sentence


@pytest.mark.parametrize(
    ("topic", "changes", "verdict"),
    [
        ("partitions", {}, "6 partitions"),
        ("partitions", {"wa_fr3": 1.9}, "6 partitions"),  # exactly 5 % saved
        ("partitions", {"wa_fr3": 1.901}, "not worth it"),
        ("partitions", {"wa_fr3": 2.2}, "not worth it"),
        ("partitions", {"wa_partitions_1": 1.05, "wa_fr3": 0.99}, "6 partitions"),
        ("partitions", {"wa_partitions_1": 1.049, "wa_fr3": 1.0}, "not needed"),
        ("partitions", {"overhead_fr3": 1.0}, "6 partitions"),
        ("partitions", {"overhead_fr3": 1.01}, "too small a device"),
        ("partitions", {"wa_fr3": None}, "unknown"),
        ("partitions", {"partitions_fr3": None}, "unknown"),
        ("partitions", {"partitions_fr3": 1, "partitions_fr2": 1}, "1 partition"),
        ("page size", {}, "4 KB"),
        ("page size", {"read_full_ns_8192": 11e9}, "8 KB"),  # exactly 10 % dearer
        ("page size", {"read_full_ns_8192": 11.01e9}, "4 KB"),
        ("page size", {"read_full_ns_8192": 10e9, "wa_fr3_8192": 1.66}, "4 KB"),
        ("page size", {"read_full_ns_32768": 1e9, "wa_fr3_32768": 3.0}, "4 or 32 KB"),
        ("page size", {"info__reads": 4_999}, "32 KB"),  # reading is not judged, writing costs the same
        ("page size", {"info__reads": 5_000}, "4 KB"),
        *(("deduplication", {"info__duplicate_write_percent": share}, verdict) for share, verdict in (
            (0.0, "no"), (9.99, "no"), (10.0, "some"), (33.62, "some"), (33.63, "yes"), (100.0, "yes"),
            (None, "unknown"),
        )),
        *(("replication", {"drift__popular_before_percent": popular, "drift__read_before_percent": read}, verdict)
          for popular, read, verdict in (
            (50.0, 60.0, "yes"), (49.9, 60.0, "with many copies"), (49.9, 50.0, "with many copies"),
            (49.9, 49.9, "some"), (20.0, 49.9, "some"), (19.9, 49.9, "no"), (None, None, "unknown"),
        )),
        *(("waiting", {"write_gain_of_waiting": wait, "write_gain_of_distance": distance}, verdict)
          for wait, distance, verdict in (
            (0.5, 0.3, "yes"), (0.3, 0.3, "yes"), (0.3, 0.31, "some"), (0.1, 0.5, "some"), (0.09, 0.5, "no"),
            (0.09, 0.09, "no"),
        )),
    ],
)  # fmt: skip
def test_answers_change_at_their_thresholds(topic: str, changes: dict[str, Any], verdict: str) -> None:
    assert on(topic, **changes).answer == verdict


@pytest.mark.parametrize(
    ("changes", "weak"),
    [
        ({}, False),
        ({"write_amplification__page_writes": 100_000}, False),
        ({"write_amplification__page_writes": 99_999}, True),
        ({"write_amplification__writes_per_sector_mean": 4.0}, False),
        ({"write_amplification__writes_per_sector_mean": 3.9}, True),
    ],
)
def test_too_few_writes_are_a_reservation(changes: dict[str, Any], weak: bool) -> None:
    assert ("This is weak, " in on("partitions", **changes).sentence) is weak


@pytest.mark.parametrize(
    ("topic", "changes", "words"),
    [
        ("partitions", {"wa_fr3": None, "wa_why_missing": "The active blocks do not fit."},
         "is unknown, because the active blocks do not fit."),
        ("partitions", {"partitions_fr3": None, "info__writes": 0}, "the trace has no writes"),
        ("deduplication", {"info__has_content": False, "info__duplicate_write_percent": None}, "carries no content"),
        ("replication", {"info__has_content": False, "drift__popular_before_percent": None}, "carries no content"),
        ("replication", {"drift__popular_before_percent": None, "drift__periods": 1}, "--period"),
    ],
)  # fmt: skip
def test_unknown_answers_give_the_reason(topic: str, changes: dict[str, Any], words: str) -> None:
    assert words in on(topic, **changes).sentence


def test_the_row_holds_all_that_advice_asks_for() -> None:
    found = tiny.made_characterization()
    assert set(GOOD) <= set(found.row)
    assert workload.UNKNOWN not in {entry.answer for entry in found.advice}
