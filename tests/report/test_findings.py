"""Findings agree with the data: the same numbers, and the system that loses. The runs are as configured."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from tests import tiny
from tests.tiny import summary

from flashtwin import report, units
from flashtwin.results.reading import read_json


def change(new: float, old: float) -> float:
    return (new / old - 1) * 100


@pytest.fixture
def study(four: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(four, tmp_path / "study"))


@pytest.fixture(scope="session")
def four(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A comparison of the four systems as configured; do not write to it."""
    return tiny.write_study(tmp_path_factory.mktemp("compared") / "study")


def texts(folder: Path) -> dict[str, str]:
    found = {finding.topic: finding.text for finding in report.findings(folder, 9)}
    chosen = report.choice(folder)
    return {**found, "verdict": chosen.text if chosen is not None else ""}


def test_findings_are_said_to_be_of_systems_as_configured(four: Path) -> None:
    found = report.findings(four)
    assert [finding.topic for finding in found][:2] == ["replication", "deduplication"]
    assert all(finding.claim.startswith("As configured: ") for finding in found)


def test_numbers_of_the_choice_are_those_of_the_data(four: Path) -> None:
    chosen = report.choice(four)
    means = {name: summary(four, name)["response"]["all"]["mean_ns"] for name in tiny.FOUR if name != "oracle"}
    fastest = min(means, key=lambda name: means[name])
    assert means[chosen.answer] <= 1.05 * means[fastest]
    assert units.duration(means[chosen.answer]) in chosen.claim
    assert f"`{chosen.answer}` as configured" in chosen.claim
    assert chosen.figures == {f"{name}:all.mean": mean for name, mean in means.items()}


def test_numbers_of_deduplication_are_those_of_the_data(four: Path) -> None:
    text = texts(four)["deduplication"]
    ca, base = summary(four, "ca-ssd"), summary(four, "conventional")
    assert units.percent(ca["page_ops"]["duplicate_writes"] / ca["page_ops"]["write"] * 100) in text
    fewer = -change(ca["pages_programmed"], base["pages_programmed"])
    assert f"{units.percent(fewer)} fewer pages" in text


def test_numbers_of_redirection_are_those_of_the_data(four: Path) -> None:
    finding = report.findings(four)[0]
    rr, ca, oracle = (summary(four, name)["response"]["read"]["mean_ns"] for name in ("rr-ssd", "ca-ssd", "oracle"))
    assert f"`rr-ssd` are {units.percent(-change(rr, ca))} shorter than under `ca-ssd`" in finding.claim
    assert f"{units.percent(-change(oracle, ca))} shorter" in finding.claim
    assert units.percent((ca - rr) / (ca - oracle) * 100) in finding.claim
    assert finding.figures["rr-ssd:response.read.mean_ns"] == rr


def test_rr_ssd_loses_and_it_is_said(study: Path) -> None:
    folder = study
    tiny.respond(folder, "rr-ssd", read={"queueing": 500.0}, write={"queueing": 900.0})
    found = {finding.topic: finding for finding in report.findings(folder, 9)}
    rr, ca = (summary(folder, name)["response"]["read"]["mean_ns"] for name in ("rr-ssd", "ca-ssd"))
    assert f"`rr-ssd` are {units.percent(change(rr, ca))} longer than under `ca-ssd`" in found["replication"].claim
    assert "loses" in found["replication"].reason
    assert report.choice(folder).answer != "rr-ssd"


def test_every_system_loses_against_the_baseline(made: Callable[..., Path]) -> None:
    folder = made(["conventional", "ca-ssd"])
    tiny.respond(
        folder, "ca-ssd", read={"queueing": 900.0}, write={"queueing": 26.0, "hash_wait": 2900.0, "hash": 12.0}
    )
    writes = summary(folder, "ca-ssd")["page_ops"]["write"]
    tiny.edit_summary(folder, "ca-ssd", lambda s: s["page_ops"].update(duplicate_writes=round(0.03 * writes)))
    found = texts(folder)
    assert found["verdict"].startswith("`conventional` as configured is the choice")
    wait_ns = summary(folder, "ca-ssd")["response"]["write"]["split"]["hash_wait_ns"]
    assert "3.0 % of the page writes" in found["deduplication"]
    assert "longer" in found["deduplication"]
    assert f"hashing is 12.0 µs and waiting for the hash unit {units.duration(wait_ns)}" in found["deduplication"]


def test_short_queues_leave_nothing_to_redirect(study: Path) -> None:
    for run in tiny.FOUR:
        tiny.respond(study, run, read={"queueing": 1.2}, write={"queueing": 2.0})
        tiny.edit_summary(study, run, lambda s: s["utilisation"].update(chip_mean=0.01))
    found = texts(study)
    # 3.2 of 83.2 us.
    assert "Waiting for chips and channels is 3.8 % of a read's time" in found["replication"]
    assert "nearly idle" in found["load"]


def test_no_pass_ran(study: Path) -> None:
    reads = summary(study, "ca-ssd")["response"]["read"]
    tiny.edit_summary(study, "rr-ssd", lambda s: s["response"].update(read=reads))
    tiny.edit_summary(study, "rr-ssd", lambda s: s["replication"].update(passes=0, copies=0))
    tiny.edit_summary(study, "rr-ssd", lambda s: s["config"]["replay"].update(period_s=86400.0))
    found = texts(study)
    assert "No copy was made: the trace ended before its first period did" in found["replication"]


def test_few_reads_find_copies(study: Path) -> None:
    of = summary(study, "rr-ssd")["page_ops"]
    tiny.edit_summary(study, "rr-ssd", lambda s: s["page_ops"].update(replicated_value_reads=round(0.04 * of["read"])))
    ca = summary(study, "ca-ssd")["response"]["read"]
    tiny.edit_summary(study, "rr-ssd", lambda s: s["response"].update(read={**ca, "mean_ns": ca["mean_ns"] * 0.98}))
    found = texts(study)
    new = units.percent(of["new_value_reads"] / of["read"] * 100)
    assert f"4.0 % went to contents that had replicas, {new} to contents never" in found["replication"]


def test_without_content_nothing_is_said_of_it(made: Callable[..., Path]) -> None:
    loaded = tiny.system("conventional", ftl__allocation__policy="least-loaded")
    folder = made({"conventional": "conventional", "least-loaded": loaded}, content=False)
    texts = " ".join([report.choice(folder).text, *(finding.text for finding in report.findings(folder, 9))])
    for word in ("content", "duplicate", "replica", "choice of chips"):
        assert word not in texts


def test_no_erases_left_is_not_infinitely_important(study: Path) -> None:
    tiny.edit_summary(study, "ca-ssd", lambda s: s["erases"].update(total=0))
    found = {finding.topic: finding for finding in report.findings(study, 9)}
    assert found["wear"].claim.startswith("As configured: `ca-ssd` erases 0 blocks")
    assert found["wear"].weight < 1.3


def test_one_run(made: Callable[..., Path]) -> None:
    folder = made(["rr-ssd"])
    text = report.choice(folder).text
    assert units.duration(summary(folder, "rr-ssd")["response"]["all"]["mean_ns"]) in text
    assert "is the choice" not in text


def test_overload(study: Path) -> None:
    tiny.edit_summary(study, "conventional", lambda s: s.update(completed_ns=s["duration_ns"]))
    found = texts(study)
    assert "cannot keep up: it needs 13.9 min for requests that arrive within 83.3 s" in found["load"]


def test_bare_summaries_give_no_nonsense(study: Path) -> None:
    for run in tiny.FOUR:
        (study / "runs" / run / "summary.json").write_text("{}")
    assert report.findings(study) == []
    # One run keeps its numbers: still nothing to compare with, and no crash.
    (study / "runs" / "rr-ssd" / "summary.json").write_text(json.dumps({"response": {"all": {"mean_ns": 5.0}}}))
    assert [finding.text for finding in report.findings(study) if "nan" in finding.text] == []


@pytest.mark.parametrize("path", ["pages_programmed", "response", "page_ops", "erases", "flash_writes", "replication"])
def test_any_part_of_a_summary_may_be_missing(path: str, study: Path) -> None:
    for run in tiny.FOUR:
        tiny.edit_summary(study, run, lambda s: s.pop(path))
    for finding in report.findings(study, 9):
        assert "–" not in finding.text, finding.text


# Each scenario once made the report name a wrong cause.


def test_a_queue_before_the_hash_unit_is_not_the_time_to_hash(made: Callable[..., Path]) -> None:
    """Looking a content up once was said to cost 28 ms, where hashing takes 12 µs."""
    folder = made(["conventional", "ca-ssd"])
    tiny.respond(folder, "ca-ssd", write={"queueing": 2.0, "hash_wait": 28_000.0, "hash": 12.0})
    tiny.edit_summary(folder, "ca-ssd", lambda s: s["hash_unit"].update(utilisation=0.27, queue_max=212))
    found = texts(folder)
    assert "hashing is 12.0 µs and waiting for the hash unit 28." in found["deduplication"]
    assert "with 1 lane, is busy 27.0 % of the time" in found["deduplication"]
    assert "up to 212 pages queue for it" in found["deduplication"]
    assert "`engine.hash_lanes`" in found["deduplication"]
    assert "ms hashing" not in " ".join(found.values())


def test_a_hash_unit_without_a_queue_is_not_blamed(made: Callable[..., Path]) -> None:
    folder = made(["conventional", "ca-ssd"])
    tiny.respond(folder, "ca-ssd", write={"queueing": 3000.0, "hash": 12.0})
    found = texts(folder)
    assert "Of a write's time, hashing is 12.0 µs." in found["deduplication"]
    assert "hash unit" not in found["deduplication"]
    assert "queueing at the chips" in found["deduplication"]


def test_chip_choice_is_a_cause_only_beside_a_run_without_it(made: Callable[..., Path]) -> None:
    found = texts(made())
    assert "by the choice of chips alone, reads under `rr-ssd` are" in found["replication"]
    assert "of the possible gain" in found["replication"]


def test_choice_is_no_cause_without_a_run_that_lacks_it(made: Callable[..., Path]) -> None:
    """`rr-ssd` against `conventional`: deduplication shortens its reads as well."""
    found = texts(made(["conventional", "rr-ssd", "oracle"]))
    assert "by the choice" not in found["replication"]
    assert "reads under `rr-ssd`, which chooses their chips, are" in found["replication"]
    assert "of the possible gain" not in found["replication"]
    assert "`rr-ssd` and `conventional` also differ in `ftl.mapping`" in found["replication"]


def test_bound_with_another_allocation_gives_no_share(study: Path) -> None:
    """A drive with static allocation once beat the bound with the one that followed the load."""
    tiny.edit_summary(study, "oracle", lambda s: s["config"]["ftl"]["allocation"].update(policy="least-loaded"))
    found = texts(study)
    assert "; at the bound, `oracle`, they are" in found["replication"]
    assert "of the possible gain" not in found["replication"]


def test_what_else_differs_is_no_effect_of_the_design(study: Path) -> None:
    tiny.edit_summary(study, "ca-ssd", lambda s: s["config"]["engine"].update(write_completes="buffered"))
    found = texts(study)
    told = "They also differ in `engine.write_completes`, which moves times whatever the design does"
    assert told in found["deduplication"]
    assert "by the choice" not in found["replication"]


@pytest.mark.parametrize("source", ["unique", "zipf(0.8,100000,1)"])
def test_made_up_contents_are_said_to_be(source: str, study: Path) -> None:
    """A share of duplicates among contents that nobody recorded was once told as a fact of the trace."""
    for run in ("ca-ssd", "rr-ssd", "oracle"):
        tiny.edit_summary(study, run, lambda s: s["trace"].update(content_source=source))
    found = report.findings(study, 9)
    rests_on_contents = [one for one in found if one.topic != "load"]
    assert len(rests_on_contents) >= 3
    for finding in rests_on_contents:
        assert finding.claim.startswith(f"As configured: with made-up contents (`{source}`), ")
    assert report.choice(study).claim.startswith(f"With made-up contents (`{source}`), ")


def test_contents_that_nobody_looks_at_need_no_word(study: Path) -> None:
    tiny.edit_summary(study, "conventional", lambda s: s["trace"].update(content_source="unique"))
    assert "made-up" not in " ".join(texts(study).values())


def test_no_duplicates_and_equal_programs_can_coexist(made: Callable[..., Path]) -> None:
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


def test_the_slow_end_is_explained_by_what_it_waited_for(made: Callable[..., Path]) -> None:
    folder = made(["conventional", "ca-ssd"])
    tiny.respond(folder, "ca-ssd", read={"queueing": 3000.0})
    found = texts(folder)
    assert "of it waiting for programs of the host at the chip" in found["tail"]


def test_nothing_is_so_because_of_anything(made: Callable[..., Path]) -> None:
    four, idle = made(), made(["conventional", "ca-ssd"])
    tiny.respond(idle, "conventional", read={"queueing": 1.0}, write={"queueing": 1.0})
    for folder in (four, idle):
        for text in texts(folder).values():
            assert "because" not in text
