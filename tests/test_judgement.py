"""One verdict a topic, for all its readers: runs decide, and the trace alone decides where they do not."""

from pathlib import Path
from typing import Any

import pytest

import flashtwin as ft
from flashtwin import report
from flashtwin.judgement import judging, workload
from flashtwin.judgement.evidence import Evidence
from flashtwin.judgement.verdict import BOTTLENECK, Verdict
from flashtwin.results import names
from flashtwin.results.keys import traits
from flashtwin.results.reading import SavedRun, StudyFolder, load, read_json

#: A trace of which everything is known that promises something.
PROMISING = {
    "info.has_content": True,
    "info.duplicate_write_percent": 57.6,
    "drift.popular_before_percent": 57.5,
    "drift.read_before_percent": 72.5,
}


def run(name: str, mean_ns: float, programs: int = 100, *, copies: int = 1, content: str = "recorded") -> SavedRun:
    config = ft.system(name).config
    summary = {
        "config": config,
        "traits": sorted(traits(config)),
        "response": {kind: {"count": 1, "mean_ns": mean_ns} for kind in ("all", "read")},
        "pages_programmed": programs,
        "replication": {"copies": copies},
        "trace": {"content_source": content},
    }
    return SavedRun(name, Path("nowhere"), summary)


def judged(topic: str, *runs: SavedRun, row: dict[str, Any] | None = PROMISING) -> Verdict:
    study = StudyFolder(Path("nowhere"), {}, runs=runs, baseline=runs[0])
    return next(one for one in judging.judge(Evidence(study, row)) if one.topic == topic)


@pytest.mark.parametrize(
    ("mean_ns", "programs", "duplicates", "answer"),
    [
        (50.0, 40, 57.6, "yes"),
        (99.4, 40, 5.0, "some"),
        (99.6, 40, 57.6, "fewer writes, equal responses"),
        (100.4, 40, 57.6, "fewer writes, equal responses"),
        (100.6, 40, 57.6, "fewer writes, longer responses"),
        (100.6, 100, 20.0, "no"),
    ],
)
def test_replays_decide_on_deduplication(mean_ns: float, programs: int, duplicates: float, answer: str) -> None:
    row = {**PROMISING, "info.duplicate_write_percent": duplicates}
    found = judged("deduplication", run("conventional", 100.0), run("ca-ssd", mean_ns, programs), row=row)
    assert found.answer == answer
    assert found.evidence == ("ca-ssd", "conventional")
    assert "From the trace alone: deduplication saves " in found.sentence


@pytest.mark.parametrize(
    ("mean_ns", "popular", "answer"),
    [(50.0, 40.0, "with many copies"), (50.0, 60.0, "yes"), (99.6, 60.0, "no"), (100.6, 60.0, "no")],
)
def test_replays_decide_on_replication(mean_ns: float, popular: float, answer: str) -> None:
    row = {**PROMISING, "drift.popular_before_percent": popular}
    runs = [run("conventional", 10.0), run("ca-ssd", 100.0), run("rr-ssd", mean_ns)]
    found = judged("replication", *runs, row=row)
    assert (found.answer, found.evidence) == (answer, ("rr-ssd", "ca-ssd"))
    assert "No copy was made" in judged("replication", *runs[:2], run("rr-ssd", mean_ns, copies=0), row=row).reason


def test_run_that_only_deduplicates_shows_deduplication() -> None:
    runs = [run("conventional", 100.0), run("rr-ssd", 80.0, 60), run("ca-ssd", 120.0, 40)]
    found = judged("deduplication", *runs)
    assert (found.answer, found.evidence) == ("fewer writes, longer responses", ("ca-ssd", "conventional"))
    assert "20.0 % longer than `conventional` as configured (100 ns), with 60.0 % less flash written" in found.claim


def test_made_up_contents_decide_nothing() -> None:
    runs = [run("conventional", 100.0, content="unique"), run("ca-ssd", 500.0, content="unique")]
    found = judged("deduplication", *runs, row={"info.has_content": False})
    assert found.answer == workload.UNKNOWN
    assert found.sentence.startswith("Replayed here: with made-up contents (`unique`), ")
    assert "carries no content" in found.estimate


def test_one_run_decides_nothing() -> None:
    assert judged("deduplication", run("ca-ssd", 1.0)).evidence == ()
    assert judged("replication", run("rr-ssd", 1.0)).evidence == ()


@pytest.mark.parametrize("name", ft.systems())
def test_what_a_system_is_comes_from_its_traits(name: str) -> None:
    """Any preset beside the baseline is judged by its effect, under any name."""
    study = StudyFolder(
        Path("nowhere"), {}, runs=(run("conventional", 100.0), run(name, 50.0)), baseline=run("conventional", 100.0)
    )
    topics = {one.topic for one in judging.judge(Evidence(study)) if one.evidence}
    has = traits(ft.system(name).config)
    assert ("replication" in topics) == (bool({"redirects", "replicates"} & has) and "bound" not in has)
    assert ("deduplication" in topics) == ("deduplicates" in has and "bound" not in has)


def test_a_study_shows_one_list_in_three_ways(small_trace: Path, tmp_path: Path) -> None:
    done = ft.study(small_trace, tmp_path / "out", period_s=0.05, effort=3_000_000)
    verdicts = judging.judge(Evidence.of(load(done.path)))
    topics = [(one.topic, one.evidence if one.topic == BOTTLENECK else ()) for one in verdicts]
    assert len(topics) == len(set(topics))
    assert [one for one in verdicts if one.topic == BOTTLENECK] == [Verdict.read(one) for one in done.limits]
    assert [one.evidence for one in verdicts if one.topic == BOTTLENECK] == [(done.choice.answer,)]
    assert [one.text for one in report.findings(done.path)] == done.findings
    told = read_json(done.path / names.ADVICE)["advice"]
    assert told == [one.as_json() for one in judging.advice(verdicts)]
    found = next(one for one in report.findings(done.path, 9) if one.topic == "deduplication")
    advised = next(entry for entry in told if entry["topic"] == "deduplication")
    assert (found.claim, found.answer, found.as_json()["action"]) == (
        advised["claim"], advised["answer"], advised["action"],
    )  # fmt: skip
    every = {run.name for run in load(done.path).every_candidate.runs}
    for one in verdicts:
        assert set(one.evidence) <= every
        assert all(value == value for value in one.figures.values())
