"""No figures make verdicts contradict one another or themselves: made-up runs, traces and replays, some incomplete."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

import flashtwin as ft
from flashtwin.causes import wording
from flashtwin.causes.figures import COUNTS, Figures, goal
from flashtwin.causes.inquiry import Inquiry
from flashtwin.judgement import choosing, facts, judging
from flashtwin.judgement.evidence import Evidence
from flashtwin.judgement.verdict import Verdict
from flashtwin.results.keys import traits
from flashtwin.results.reading import SavedRun, StudyFolder

from .test_advice import GOOD

#: Times as long, or as many: from a tenth to tenfold, on both sides of the threshold of a change.
VALUES = (0.0, 0.1, 0.9, 0.98, 0.9949, 0.9951, 1.0, 1.0049, 1.0051, 1.1, 10.0)
TIMES, SOME = st.sampled_from(VALUES), st.sampled_from((*VALUES, None))
RUN = st.fixed_dictionaries(
    dict.fromkeys(("all", "read", "write", "p99", "programs", "erases", "queueing", "gc", "completed"), SOME)
)
CONFIGS = {name: ft.system(name).config for name in ("conventional", "ca-ssd", "rr-ssd", "oracle")}
#: What missing or wrong figures leave in a sentence.
FAULTS = re.compile(r"  |\.\.|``|\(\)| ,|\b(nan|None|inf)\b|–|than than|[-−+]{2}")


def faults(text: str) -> Iterator[str]:
    prose = re.sub(r"`[^`]*`", "`x`", text)
    if FAULTS.search(prose) or (text and (prose.count("`") % 2 or not text.endswith("."))):
        yield text


def run(name: str, times: Mapping[str, float | None]) -> SavedRun:
    of = {key: None if value is None else value * 1e3 for key, value in times.items()}
    part = of["queueing"]
    split = {f"{key}_ns": (part if key == "queueing" else 1.0) for key, _ in facts.PARTS}
    response = {
        kind: {"count": 1, "mean_ns": of[kind], "p99_ns": of["p99"], "split": split}
        for kind in ("all", "read", "write")
    }
    summary = {
        "config": CONFIGS[name], "traits": sorted(traits(CONFIGS[name])), "response": response,
        "pages_programmed": of["programs"], "erases": {"total": of["erases"]}, "completed_ns": of["completed"],
        "duration_ns": 1e3, "write_amplification": times["programs"],
        "flash_writes": {"gc": of["gc"], "replica": of["gc"], "missed_duplicate": of["gc"]},
        "page_ops": {"write": 1e3, "read": 1e3, "duplicate_writes": of["gc"], "redirected_reads": of["gc"],
                     "replicated_value_reads": of["gc"], "new_value_reads": of["queueing"]},
        "replication": {"copies": of["gc"], "passes": of["erases"]}, "trace": {"content_source": "recorded"},
    }  # fmt: skip
    return SavedRun(name, Path("nowhere"), summary)


def study(*runs: SavedRun) -> StudyFolder:
    return StudyFolder(Path("nowhere"), {}, runs=runs, baseline=runs[0])


@given(figures=st.tuples(RUN, RUN, RUN, RUN), several=st.sampled_from([4, 4, 4, 3, 2, 1]))
def test_verdicts_on_runs(figures: tuple[dict[str, float | None], ...], several: int) -> None:
    runs = [run(name, times) for name, times in zip(CONFIGS, figures, strict=True)][:several]
    verdicts = judging.judge(Evidence(study(*runs)))
    assert [fault for one in verdicts for fault in (*faults(one.claim), *faults(one.reason), *faults(one.text))] == []
    by_topic = {one.topic: one for one in verdicts}
    assert len(by_topic) == len(verdicts)
    for one in verdicts:
        assert set(one.evidence) <= {run_.name for run_ in runs}
        assert all(value == value for value in one.figures.values())
        check(one, {run_.name: run_ for run_ in runs})
    gains = {"yes", "some", "with many copies", "gain"}
    both = [by_topic[topic] for topic in ("redirection", "replication") if topic in by_topic]
    if len(both) == 2 and both[0].answer != "bound only" and "no copy made" not in both[1].answer:
        assert (both[0].answer in gains) == (both[1].answer in gains)


def check(one: Verdict, runs: Mapping[str, SavedRun]) -> None:
    if one.topic == "choice" and len(runs) > 1:
        means = {name: mean for name, run_ in runs.items() if not run_.is_ideal
                 if (mean := facts.mean(run_, "all")) is not None}  # fmt: skip
        assert means[one.answer] <= min(means.values()) * 1.0051
        assert means[one.answer] == min(means.values()) or one.answer == "conventional"
        assert ("No system beats" in one.claim) == (one.answer == "conventional")
        assert not re.search(r"`, [\d.]+ % longer", one.claim) or means[one.answer] > (means.get("conventional") or 0)
    if one.topic == "redirection":
        words = {"gain": "shorter than", "longer reads": "longer than", "no gain": "as long as"}
        assert words.get(one.answer, "") in one.claim
        assert "There is little to gain" not in one.reason or not re.search(r"\d{2}\.\d % shorter than", one.claim)
        reached = re.search(r"so ([\d.,]+) % of what is possible", one.claim)
        assert reached is None or float(reached[1]) <= 100
    if one.topic == "deduplication":
        change = one.figures.get("ca-ssd:response.all.mean_change_percent")
        assert one.answer != "yes" or any(facts.gains(value) for name, value in one.figures.items() if "all" in name)
        assert "longer responses" not in one.answer or change is None or "longer" in one.claim
        assert "responses" not in one.answer or any("all" in name for name in one.figures)
    if one.topic == "wear":
        value, before = one.figures.values()
        assert one.answer == "as many erases" or one.answer.startswith("more") == (value > before)
    if one.topic == "load":
        assert ("slowly" in one.reason) == (one.answer == "overloaded")


@given(st.fixed_dictionaries({key: st.none() | st.sampled_from([value, 0, 0.05, 1, 2.5, 30, 5e5])
                              for key, value in GOOD.items() if key != "info.has_content"}))  # fmt: skip
def test_verdicts_on_a_trace(row: dict[str, Any]) -> None:
    verdicts = judging.advice(judging.judge(Evidence(None, row)))
    assert [one.topic for one in verdicts] == list(judging.ADVICE)
    assert [fault for one in verdicts for fault in (*faults(one.claim), *faults(one.sentence), *faults(one.text))] == []
    for one in verdicts:
        assert ("is unknown" in one.claim) == (one.answer == "unknown")
        assert one.topic != "partitions" or ("and pay:" in one.claim) == one.answer.endswith(
            ("partition", "partitions")
        )


NAMES = ("conventional", "ca-ssd", "rr-ssd", "caftl")
CANDIDATE = st.fixed_dictionaries({
    "after_ns": TIMES, "as_is_ns": SOME, "cached": st.booleans(), "late": st.sampled_from([None, None, None, 1.2, 7.0]),
    "programs": st.sampled_from([0, 1, 100]), "ram_bytes": st.sampled_from([0, 10, 10**7]),
    "settings": st.sampled_from([[], ["4 hash lanes"], ["static placement", "a write cache of 16.0 MiB"]]),
})  # fmt: skip
GOALS = {
    "all.mean": "the mean response of requests",
    "read.p99": "the p99 of reads",
    "time": "the time for the whole trace",
}


@given(
    made=st.lists(CANDIDATE, min_size=1, max_size=8),
    goal_name=st.sampled_from(list(GOALS)),
    requests=st.sampled_from([1, 99, 5000]),
    seeds=st.lists(TIMES, max_size=2),
    there=st.lists(TIMES, max_size=4),
)
def test_verdicts_on_candidates(
    made: list[dict[str, Any]], goal_name: str, requests: int, seeds: list[float], there: list[float]
) -> None:
    of = [
        {**one, "system": NAMES[place // 2], "after_ns": 1e3 * one["after_ns"], "sets": {}, "command": "flashtwin",
         "as_is_ns": None if one["as_is_ns"] is None else 1e3 * one["as_is_ns"]}
        for place, one in enumerate(made)
    ]  # fmt: skip
    found = {
        "goal": goal_name, "goal_words": GOALS[goal_name], "baseline": NAMES[0], "requests": requests, "candidates": of,
        "seeds": {NAMES[0]: [1e3 * one for one in seeds]}, "device": "tlc-2021",
        "elsewhere": {name: {"after_ns": 1e3 * one, "is_late": False} for name, one in zip(NAMES, there, strict=False)},
    }  # fmt: skip
    folder = study(run("conventional", dict.fromkeys(("all", "read", "write"), 1.0) | dict.fromkeys(
        ("p99", "programs", "erases", "queueing", "gc", "completed"), 1.0)))  # fmt: skip
    folder.__dict__["candidates"] = found
    one = choosing.choice(Evidence(folder))
    assert [fault for text in (one.claim, one.reason, one.text) if text for fault in faults(text)] == []
    ranked, first = choosing.ranking(found), choosing.chosen(found)
    assert (first is None) == (one.answer == "unknown") == bool(choosing.too_few(found))
    if first is None:
        return
    on_time = [other for other in ranked if other.best["late"] is None]
    assert (first.best["late"] is None) == bool(on_time) == ("No candidate keeps up" not in one.claim)
    least = min((other.ns for other in on_time), default=0.0)
    spread = 1e4 if seeds else 0.0
    assert not on_time or first.ns <= least * 1.01 + spread
    assert ("No system beats" in one.claim) == (bool(on_time) and first.name == NAMES[0] and len(ranked) > 1)
    assert "longer" not in one.claim


#: Times as long without a cause, on both sides of the thresholds of blame, names and reports.
FASTER = st.sampled_from([0.1, 0.5, 0.84, 0.86, 0.94, 0.96, 0.989, 1.0, 1.2, 9.0])


def replayed(value: float) -> Figures:
    response = {kind: {"mean": value * 1e3, "p99": value * 1e3} for kind in ("all", "read", "write")}
    ledger = {kind: {"all": {"host_read": 500.0, "hash_queue": 200.0, "service": 300.0}} for kind in response}
    return Figures(response, ledger, {**dict.fromkeys(COUNTS, 100), "footprint_pages": 50, "erases": int(value * 10)})


@given(
    kind=st.sampled_from(["all.mean", "read.p99", "time"]), system=st.sampled_from(["ca-ssd", "modern"]),
    waits=st.booleans(), times=st.lists(FASTER, min_size=1, max_size=7), rounds=st.integers(0, 4),
)  # fmt: skip
def test_bottlenecks(kind: str, system: str, waits: bool, times: list[float], rounds: int) -> None:
    """At any stage of an inquiry: a blamed cause costs something, and the action shortens the figure."""
    base = replayed(1.0) if waits else replace(replayed(1.0), ledger={})
    inquiry = Inquiry(ft.system(system), base, goal(kind))
    for place in range(rounds):
        for number, sets in enumerate(inquiry.wanted()):
            inquiry.known[tuple(sorted(sets.items()))] = replayed(times[(number * 3 + place) % len(times)])
    found = wording.document(inquiry, wording.Command("TRACE", system, system, {}))
    texts = [found["claim"], f"{found['action']['words']}.", *found["more"]]
    assert [fault for text in texts for fault in faults(text)] == []
    blamed = [one for one in found["causes"] if one["name"] == found["answer"]]
    assert bool(blamed) == (found["answer"] not in ("nothing", "unknown"))
    assert all(one["percent"] > 0 and "instead of" in found["claim"] for one in blamed)
    done = next((one for one in found["steps"] if one["sets"] == found["action"]["sets"]), None)
    assert not found["action"]["sets"] or (done is not None and done["percent"] >= 1.0)
    assert ft.Explanations([found])[system].text
