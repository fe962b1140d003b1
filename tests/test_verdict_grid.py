"""No figures make verdicts contradict one another or themselves: made-up runs, traces and replays, some incomplete."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

import flashtwin as ft
from flashtwin.causes import explaining
from flashtwin.causes.inquiry import Inquiry
from flashtwin.causes.stored import Command
from flashtwin.judgement import facts, judging, workload
from flashtwin.judgement.costs import Prices
from flashtwin.judgement.evidence import Evidence
from flashtwin.judgement.goals import Figures, goal_of
from flashtwin.judgement.verdict import CHOICE, Verdict
from flashtwin.results.keys import traits
from flashtwin.results.reading import SavedRun, StudyFolder

from .causes.test_what_ifs import COUNTS
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


def check(one: Verdict, runs: Mapping[str, SavedRun]) -> None:
    if one.topic == CHOICE and one.answer in runs:
        means = {name: mean for name, run_ in runs.items() if not run_.is_ideal
                 if (mean := facts.mean(run_, "all")) is not None}  # fmt: skip
        assert means[one.answer] <= min(means.values()) * 1.0501 or "No candidate keeps up" in one.claim
    if one.topic in ("replication", "deduplication"):
        value, before = one.figures.values()
        assert (one.answer == "yes") == (facts.gains(facts.change(value, before)) or "falls behind" in one.claim)
        assert "longer responses" not in one.answer or value > before or "falls behind" in one.claim
        assert ("longer than" in one.claim) == (value > before) or "falls behind" in one.claim
    if one.topic == "load":
        assert ("slowly" in one.reason) == (one.answer == "overloaded")


@given(st.fixed_dictionaries({key: st.none() | st.sampled_from([value, 0, 0.05, 1, 2.5, 30, 5e5])
                              for key, value in GOOD.items() if key != "info.has_content"}))  # fmt: skip
@example(dict.fromkeys(GOOD, 0))
def test_verdicts_on_a_trace(row: dict[str, Any]) -> None:
    verdicts = judging.advice(judging.judge(Evidence(None, row)))
    assert [one.topic for one in verdicts] == list(judging.ADVICE)
    assert [fault for one in verdicts for fault in (*faults(one.claim), *faults(one.sentence), *faults(one.text))] == []
    for one in verdicts:
        assert ("is unknown" in one.claim) == (one.answer == "unknown")
        openings = workload.OPENINGS[one.topic]
        opening = (openings.get(one.answer) or openings[workload.NUMBER]).format(one.answer)
        # The sentence says what the answer says. Figures are no causes.
        then = " is unknown, because " if one.answer == "unknown" else (": ", ".")
        assert one.claim.startswith(opening)
        assert one.claim.removeprefix(opening).startswith(then)


NAMES = ("conventional", "ca-ssd", "rr-ssd", "caftl")
CANDIDATE = st.fixed_dictionaries({
    "ns": TIMES, "as_configured": SOME, "late": st.sampled_from([1.0, 1.0, 1.0, 1.2, 7.0]),
    "programs": st.sampled_from([0, 1, 100]), "ram": st.sampled_from([0, 10, 10**7]),
    "settings": st.sampled_from([[], ["4 hash lanes"], ["static placement", "a write cache of 16.0 MiB"]]),
})  # fmt: skip
GOALS = ("all.mean", "read.p99", "time", "programs", "life", "iops")


@given(
    made=st.lists(CANDIDATE, min_size=1, max_size=8), goal_name=st.sampled_from(GOALS),
    second=st.sampled_from([None, *GOALS]), requests=st.sampled_from([1, 99, 5000]),
    worth=st.sampled_from([0.0, 0.05, 0.5]), order=st.randoms(use_true_random=False),
)  # fmt: skip
def test_verdicts_on_candidates(
    made: list[dict[str, Any]], goal_name: str, second: str | None, requests: int, worth: float, order: Any
) -> None:
    runs, rows = [], []
    for place, one in enumerate(made):
        name = f"{NAMES[place // 2]}{' (fastest)' if place % 2 else ''}"
        ns = 1e3 * one["ns"]
        summary = {
            "config": CONFIGS["conventional"], "requests": {"completed": requests}, "duration_ns": 1e12,
            "completed_ns": 1e12 * one["late"], "pages_programmed": one["programs"], "erases": {"blocks": 9},
            "ram": {"total_bytes": one["ram"]}, "throughput": {"all": {"iops": one["ns"]}},
            "response": {kind: {"count": requests, "mean_ns": ns, "p99_ns": ns} for kind in ("all", "read")},
        }  # fmt: skip
        runs.append(SavedRun(name, Path("nowhere"), summary))
        rows.append({"name": name, "system": NAMES[place // 2], "also": [], "settings": one["settings"],
                     "changes": ["lanes"] * len(one["settings"]), "takes": [], "sets": {},
                     "as_configured": None if one["as_configured"] is None else 1e3 * one["as_configured"],
                     "command": "flashtwin"})  # fmt: skip
    found = {
        "goal": goal_name, "second_goal": second, "worth": worth, "prices": vars(Prices.read()), "replays": 1,
        "capacity_bytes": 2.0**30, "baseline": NAMES[0], "candidates": rows, "left_out": {}, "unfinished": [],
        "acknowledged": {}, "shown": [],
    }  # fmt: skip
    folder = study(*runs)
    folder.__dict__["candidates"] = found
    of = Evidence(folder)
    one = judging.choice(of)
    texts = (one.claim, one.reason, one.text, judging.ground(of))
    assert [fault for text in texts if text for fault in faults(text)] == []
    decision = of.decision
    first = decision.choice
    assert (first is None) == (one.answer == "unknown") == bool(decision.too_few)
    if first is None:
        return
    on_time = [other for other in decision.candidates if other.late is None]
    assert (first.late is None) == bool(on_time) == ("No candidate keeps up" not in one.claim)
    costs = [decision.goal.cost(decision.value(other)) for other in on_time]
    assert not costs or decision.goal.cost(decision.value(first)) <= min(costs) * (1 + worth) * (1 + 1e-9)
    # In another order, and with a copy of one under another name, the choice is the same.
    again = [*runs, SavedRun("copy", Path("nowhere"), runs[0].summary)]
    order.shuffle(again)
    copied = study(*again)
    copied.__dict__["candidates"] = {**found, "candidates": [*rows, {**rows[0], "name": "copy", "system": "zz-copy"}]}
    other = Evidence(copied).decision.choice
    assert (other.run.summary, other.settings) == (first.run.summary, first.settings)


#: Times as long without a cause, on both sides of the thresholds of blame, names and reports.
FASTER = st.sampled_from([0.1, 0.5, 0.84, 0.86, 0.94, 0.96, 0.989, 1.0, 1.2, 9.0])


def replayed(value: float) -> Figures:
    response = {
        f"response.{kind}.{key}_ns": value * 1e3 for kind in ("all", "read", "write") for key in ("mean", "p99")
    }
    response |= {f"response.{kind}.count": 100.0 for kind in ("all", "read", "write")}
    ledger = {kind: {"all": {"host_read": 500.0, "hash_queue": 200.0, "service": 300.0}} for kind in ("all", "read")}
    counts = dict.fromkeys(COUNTS, 100.0) | {"trace.footprint_pages": 50.0, "erases.total": value * 10}
    return Figures({**response, **counts, "completed_ns": value * 1e5}, ledger)


@given(
    kind=st.sampled_from(["all.mean", "read.p99", "time"]), system=st.sampled_from(["ca-ssd", "modern"]),
    waits=st.booleans(), times=st.lists(FASTER, min_size=1, max_size=7), rounds=st.integers(0, 4),
)  # fmt: skip
def test_bottlenecks(kind: str, system: str, waits: bool, times: list[float], rounds: int) -> None:
    """At any stage of an inquiry: a blamed cause costs something, and the action shortens the figure."""
    base = replayed(1.0) if waits else replace(replayed(1.0), ledger={})
    inquiry = Inquiry(ft.system(system), goal_of(kind), {(): base})
    for place in range(rounds):
        for number, sets in enumerate(inquiry.wanted()):
            inquiry.known[tuple(sorted(sets.items()))] = replayed(times[(number * 3 + place) % len(times)])
    found = explaining.document(inquiry, Command("TRACE", system, system, {}))
    texts = [found["claim"], f"{found['action']['words']}.", *found["more"]]
    assert [fault for text in texts for fault in faults(text)] == []
    blamed = [one for one in found["causes"] if one["name"] == found["answer"]]
    assert bool(blamed) == (found["answer"] not in ("nothing", "unknown"))
    assert all(one["percent"] > 0 and "instead of" in found["claim"] for one in blamed)
    done = next((one for one in found["steps"] if one["sets"] == found["action"]["sets"]), None)
    assert not found["action"]["sets"] or (done is not None and done["percent"] > 5.0)
    assert found["action"]["replayed"] == bool(found["action"]["sets"])
    assert ft.Explanations([found])[system].text
