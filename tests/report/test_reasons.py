"""Findings blame nothing that was not measured: each scenario once made the report name a wrong cause."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests import tiny

from flashtwin import report
from flashtwin.results.reading import read_json

Made = Callable[..., Path]


def texts(folder: Path) -> dict[str, str]:
    return {finding.topic: finding.text for finding in report.findings(folder, 9)}


def test_a_queue_before_the_hash_unit_is_not_the_time_to_hash(made: Made) -> None:
    """Looking a content up once was said to cost 28 ms, where hashing takes 12 µs."""
    folder = made(["conventional", "ca-ssd"])
    tiny.respond(folder, "ca-ssd", write={"queueing": 2.0, "hash_wait": 28_000.0, "hash": 12.0})
    tiny.edit_summary(folder, "ca-ssd", lambda s: s["hash_unit"].update(utilisation=0.27, queue_max=212))
    found = texts(folder)
    assert "waiting for the hash unit" in found["choice"]
    assert "hashing is 12.0 µs and waiting for the hash unit 28." in found["deduplication"]
    assert "with 1 lane, is busy 27.0 % of the time" in found["deduplication"]
    assert "up to 212 pages queue for it" in found["deduplication"]
    assert "`engine.hash_lanes`" in found["deduplication"]
    assert "ms hashing" not in " ".join(found.values())


def test_a_hash_unit_without_a_queue_is_not_blamed(made: Made) -> None:
    folder = made(["conventional", "ca-ssd"])
    tiny.respond(folder, "ca-ssd", write={"queueing": 3000.0, "hash": 12.0})
    found = texts(folder)
    assert "Of a write's time, hashing is 12.0 µs." in found["deduplication"]
    assert "hash unit" not in found["deduplication"]
    assert "queueing at the chips" in found["deduplication"]


def test_chip_choice_is_a_cause_only_beside_a_run_without_it(made: Made) -> None:
    found = texts(made())
    assert "By the choice of chips alone, reads under `rr-ssd` are" in found["redirection"]
    assert "of the possible gain" in found["redirection"]


def test_choice_is_no_cause_without_a_run_that_lacks_it(made: Made) -> None:
    """`rr-ssd` against `conventional`: deduplication shortens its reads as well."""
    found = texts(made(["conventional", "rr-ssd", "oracle"]))
    assert "By the choice" not in found["redirection"]
    assert "Reads under `rr-ssd`, which chooses their chips, are" in found["redirection"]
    assert "what is possible" not in found["redirection"]
    assert "`rr-ssd` and `conventional` also differ in `ftl.mapping`" in found["redirection"]


def test_bound_with_another_allocation_gives_no_share(study: Path) -> None:
    """A drive with static allocation once beat the bound with the one that followed the load."""
    tiny.edit_summary(study, "oracle", lambda s: s["config"]["ftl"]["allocation"].update(policy="least-loaded"))
    found = texts(study)
    assert "; at the bound, `oracle`, they are" in found["redirection"]
    assert "what is possible" not in found["redirection"]


def test_what_else_differs_stands_beside_the_choice(study: Path) -> None:
    tiny.edit_summary(study, "rr-ssd", lambda s: s["config"]["engine"].update(write_completes="buffered"))
    found = texts(study)
    assert "They also differ in `engine.write_completes`, which moves times whatever the design does" in found["choice"]
    assert "By the choice" not in found["redirection"]


@pytest.mark.parametrize("source", ["unique", "zipf(0.8,100000,1)"])
def test_made_up_contents_are_said_to_be(source: str, study: Path) -> None:
    """A share of duplicates among contents that nobody recorded was once told as a fact of the trace."""
    for run in ("ca-ssd", "rr-ssd", "oracle"):
        tiny.edit_summary(study, run, lambda s: s["trace"].update(content_source=source))
    found = report.findings(study, 9)
    rests_on_contents = [one for one in found if one.topic != "load"]
    assert len(rests_on_contents) >= 4
    for finding in rests_on_contents:
        assert finding.claim.startswith(f"With made-up contents (`{source}`), ")


def test_contents_that_nobody_looks_at_need_no_word(study: Path) -> None:
    tiny.edit_summary(study, "conventional", lambda s: s["trace"].update(content_source="unique"))
    assert "made-up" not in " ".join(texts(study).values())


def test_no_duplicates_and_equal_programs_can_coexist(made: Made) -> None:
    """ "Yet it programs as many pages" was said of 0 % duplicates."""
    folder = made(["conventional", "ca-ssd"])
    base = read_json(folder / "runs" / "conventional" / "summary.json")
    tiny.edit_summary(folder, "ca-ssd", lambda s: s["page_ops"].update(duplicate_writes=1))
    tiny.edit_summary(
        folder, "ca-ssd", lambda s: s.update({key: base[key] for key in ("pages_programmed", "flash_writes")})
    )
    found = texts(folder)
    assert "; it programs as many pages as `conventional` (" in found["deduplication"]
    assert "yet" not in found["deduplication"]


def test_a_percentile_of_nothing_is_said_in_words(study: Path) -> None:
    """ "The slowest 1 % take more than 0 ns": a write cache answers most writes at once."""
    tiny.edit_summary(study, "ca-ssd", lambda s: s["response"]["write"].update(p99_ns=0))
    tail = next(one for one in report.findings(study, 9) if one.topic == "tail")
    assert "0 ns" not in tail.text
    assert "under `ca-ssd`, 99 % of them take no time." in tail.claim


def test_the_slow_end_is_explained_by_what_it_waited_for(made: Made) -> None:
    folder = made(["conventional", "ca-ssd"])
    tiny.respond(folder, "ca-ssd", read={"queueing": 3000.0})
    found = texts(folder)
    assert "of it waiting for programs of the host at the chip" in found["tail"]


def test_copies_as_they_are_earned_come_in_no_passes(study: Path) -> None:
    tiny.edit_summary(study, "rr-ssd", lambda s: s["replication"].update(passes=0))
    tiny.edit_summary(study, "rr-ssd", lambda s: s["config"]["ftl"]["replication"].update(policy="on-line"))
    found = texts(study)
    assert "copies." in found["cost"]
    assert "passes" not in found["cost"]
    assert "pass ran" not in " ".join(found.values())


def test_room_that_was_never_full_is_told(study: Path) -> None:
    """So that nobody waits for `alpha` to change what never was at its limit."""
    budget = read_json(study / "runs" / "rr-ssd" / "summary.json")["replication"]["budget_pages"]
    tiny.edit_summary(study, "rr-ssd", lambda s: s["space"].update(pages_in_use_peak=round(0.498 * budget)))
    assert "At most 49.8 % of the space for copies was in use (`replication.alpha`)." in texts(study)["cost"]


def test_nothing_is_so_because_of_anything(made: Made) -> None:
    four, idle = made(), made(["conventional", "ca-ssd"])
    tiny.respond(idle, "conventional", read={"queueing": 1.0}, write={"queueing": 1.0})
    for folder in (four, idle):
        for text in texts(folder).values():
            assert "because" not in text
