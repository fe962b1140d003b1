"""Advice, findings and causes are made from the same runs and never say the opposite of one another.

Looked for in studies of all scenarios, of the demo trace, of a trace without contents and of made-up contents.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

import flashtwin as ft
from flashtwin import report
from flashtwin.causes import replaying
from flashtwin.causes.budget import Budget
from flashtwin.characterization import replayed
from flashtwin.characterization.advice import advise
from flashtwin.characterization.replayed import Replay
from flashtwin.report import facts, units
from flashtwin.results.reading import SavedRun, StudyFolder, load

from ..conftest import ROOT
from .scenarios import SCENARIOS, hash_lane, slow_bus

#: Replays that tell what holds the systems of a study back: so many, whatever the machine.
REPLAYS = 24
PAYS = ("yes", "with many copies", "some")


class Counted(Budget):
    """A budget in replays instead of seconds."""

    begun = 0

    def next(self, wanted: int) -> int:
        """As many as are left."""
        count = min(wanted, REPLAYS - self.begun, 2)
        self.begun += count
        return count


@pytest.fixture
def studied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., StudyFolder]:
    """Studies without their page."""
    monkeypatch.setattr(report, "build", lambda path: path)
    monkeypatch.setattr(replaying, "Budget", Counted)

    def make(trace: ft.Trace | Path, **how: Any) -> StudyFolder:
        ft.study(trace, tmp_path / "out", **{"effort_s": None, **how})
        return load(tmp_path / "out")

    return make


def contradictions(study: StudyFolder) -> Iterator[str]:
    """What one part of a study says against another."""
    advice = {str(entry["topic"]): entry for entry in study.advice}
    made_up = any(facts.made_up_contents(run) for run in study.runs)
    yield from _unfinished(advice)
    yield from _of_verdicts(study, advice, made_up=made_up)
    found = report.findings(study, 9)
    nobody = any(finding.headline.startswith("No system beats") for finding in found)
    if nobody and not made_up and advice["deduplication"]["verdict"] in PAYS:
        yield "the findings say that no system beats the baseline, the advice that deduplication pays"
    for finding in found:
        yield from _of_numbers(finding.numbers, advice)
        hashing = finding.topic == "deduplication" and "--set engine.hash_lanes" in finding.action
        if hashing and str(advice["deduplication"]["command"]) not in finding.action:
            yield f"two ways against hashing: {finding.action} and {advice['deduplication']['command']}"


def _unfinished(advice: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    for topic, entry in advice.items():
        if not re.search(r"`[a-z]+\.[a-z_.]+", str(entry["action"])):
            yield f"{topic}: no key in {entry['action']}"
        if not str(entry["command"]).startswith("flashtwin "):
            yield f"{topic}: no command"


def _of_verdicts(study: StudyFolder, advice: Mapping[str, Mapping[str, Any]], *, made_up: bool) -> Iterator[str]:
    designs = [run for run in study.runs if not run.is_ideal]
    looking = [run for run in designs if facts.deduplicates(run)]
    copying = [run for run in designs if facts.replicates(run)]
    copied = any(run.count("replication.copies") for run in copying)
    pairs = (
        ("deduplication", looking, study.baseline, "all", True),
        ("replication", copying, facts.reference(study), "read", copied),
    )
    for topic, runs, ref, kind, happened in pairs:
        verdict, sentence = str(advice[topic]["verdict"]), str(advice[topic]["sentence"])
        change = _best(runs, ref, kind)
        if change is None:
            continue
        if made_up:
            if "made up" not in sentence:
                yield f"{topic}: contents are made up, and nobody says so"
            continue
        if verdict in PAYS and (change > 0 or not happened):
            yield f"{topic}: '{verdict}', but the best run is {change:+.1f} %"
        if verdict == "no" and change < -units.UNCHANGED_PERCENT:
            yield f"{topic}: 'no', but the best run is {change:+.1f} %"
        if "Replayed here" not in sentence:
            yield f"{topic}: replays are there, and the advice guesses"


def _best(runs: Sequence[SavedRun], ref: SavedRun, kind: str) -> float | None:
    changes = [facts.change(facts.mean(run, kind), facts.mean(ref, kind)) for run in runs if run is not ref]
    return min((change for change in changes if change is not None), default=None)


def _of_numbers(numbers: Mapping[str, float], advice: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    for name, value in numbers.items():
        run, _, figure = name.partition(":")
        sentence = str(advice["deduplication"]["sentence"])
        if figure != "pages_programmed_change_percent" or f"`{run}` programs" not in sentence:
            continue
        words = "as many" if units.unchanged(value) else "fewer" if value < 0 else "more"
        if not re.search(rf"`{re.escape(run)}` programs [^,;]*{words}", sentence):
            yield f"the findings have {value:+.1f} % programs, the advice: {sentence}"


@pytest.mark.parametrize("make", SCENARIOS, ids=[make.__name__ for make in SCENARIOS])
def test_scenarios(make: Callable[[], Any], studied: Callable[..., StudyFolder]) -> None:
    scenario = make()
    study = studied(scenario.trace(), settings=scenario.settings, goal=scenario.goal)
    assert list(contradictions(study)) == []


@pytest.mark.parametrize("speed", [1, 100])
def test_the_demo(speed: int, studied: Callable[..., StudyFolder]) -> None:
    study = studied(ROOT / "traces" / "webvm-small.fiu.zst", period_s=120, speed=speed)
    assert list(contradictions(study)) == []
    assert study.explained


def test_a_trace_without_contents(studied: Callable[..., StudyFolder]) -> None:
    study = studied(slow_bus().trace())
    assert list(contradictions(study)) == []
    told = {entry["topic"]: entry for entry in study.advice}
    assert "carries no content" in told["deduplication"]["sentence"]
    assert "replay.content" in told["deduplication"]["action"]


def test_made_up_contents(studied: Callable[..., StudyFolder]) -> None:
    study = studied(slow_bus().trace(), content="unique", period_s=0.1)
    assert list(contradictions(study)) == []
    assert any(facts.made_up_contents(run) for run in study.runs)


def test_a_contradiction_would_be_found(studied: Callable[..., StudyFolder], monkeypatch: pytest.MonkeyPatch) -> None:
    """Bursts of duplicates on a slow hash unit: the trace alone says yes, the replays that responses are longer."""
    said = []
    for quoted in (True, False):
        if not quoted:
            monkeypatch.setattr(replayed, "deduplication", lambda *_: None)
        study = studied(hash_lane().trace(), effort_s=0.0, hash_us=500.0)
        said.append(list(contradictions(study)))
        verdict = next(entry["verdict"] for entry in study.advice if entry["topic"] == "deduplication")
        assert verdict == ("fewer writes, longer responses" if quoted else "yes")
    assert said[0] == []
    assert any("deduplication: 'yes', but" in one for one in said[1])


def run(name: str, mean_ns: float, programs: int = 100, **more: Any) -> Replay:
    """A run by hand; reads take as long as all requests."""
    ftl = {"mapping": "content" if name != "conventional" else "page",
           "replication": {"policy": "end-of-period" if name == "rr-ssd" else "none"},
           "redirection": {"policy": "replicas" if name == "rr-ssd" else "home"}}  # fmt: skip
    response = {kind: {"count": 1, "mean_ns": mean_ns} for kind in ("all", "read")}
    summary = {"config": {"ftl": ftl}, "response": response, "pages_programmed": programs,
               "replication": {"copies": more.get("copies", 1)},
               "trace": {"content_source": more.get("content", "recorded")}}  # fmt: skip
    return Replay(name, summary, {}, is_baseline=name == "conventional")


@pytest.mark.parametrize(
    ("mean_ns", "programs", "reckoned", "verdict"),
    [
        (50.0, 40, "yes", "yes"),
        (99.4, 40, "no", "some"),
        (99.6, 40, "yes", "fewer writes, equal responses"),
        (100.4, 40, "yes", "fewer writes, equal responses"),
        (100.6, 40, "yes", "fewer writes, longer responses"),
        (100.6, 100, "some", "no"),
    ],
)
def test_replays_decide_on_deduplication(mean_ns: float, programs: int, reckoned: str, verdict: str) -> None:
    found = replayed.deduplication(reckoned, [run("conventional", 100.0), run("ca-ssd", mean_ns, programs)])
    assert found is not None
    assert found[0] == verdict


@pytest.mark.parametrize(
    ("mean_ns", "copies", "reckoned", "verdict"),
    [
        (50.0, 1, "with many copies", "with many copies"),
        (99.4, 1, "no", "some"),
        (99.6, 1, "yes", "no gain"),
        (100.6, 1, "yes", "longer reads"),
        (100.6, 0, "yes", "no copy made"),
    ],
)
def test_replays_decide_on_replication(mean_ns: float, copies: int, reckoned: str, verdict: str) -> None:
    runs = [run("conventional", 10.0), run("ca-ssd", 100.0), run("rr-ssd", mean_ns, copies=copies)]
    found = replayed.replication(reckoned, runs)
    assert found is not None
    assert found[0] == verdict


def test_made_up_contents_decide_nothing() -> None:
    runs = [run("conventional", 100.0, content="unique"), run("ca-ssd", 500.0, content="unique")]
    verdict, sentence = replayed.deduplication("unknown", runs) or ("", "")
    assert verdict == "unknown"
    assert "made up (`unique`)" in sentence


def test_one_run_decides_nothing() -> None:
    assert replayed.deduplication("yes", [run("ca-ssd", 1.0)]) is None
    assert replayed.replication("yes", [run("rr-ssd", 1.0)]) is None
    assert [entry.verdict for entry in advise({}, [run("ca-ssd", 1.0)])] == ["unknown"] * 6


def test_the_same_change_is_none_in_advice_and_findings() -> None:
    assert replayed.UNCHANGED_PERCENT == units.UNCHANGED_PERCENT
