"""When is copying better than placing? Placements, copies and what reads can have for free, under three loads.

RR-SSD names no order of allocation, and its drives queue only if neighbouring pages share a chip. So each case stands
on two grounds that differ in the order alone: pages that fill a chip first (PDWC), and pages that take turns over the
channels (CWDP). A case is a trace at a clock. Every further choice is made otherwise, one at a time.
"""

import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import permutations
from typing import Any

import flashtwin as ft
from evidence import code
from evidence.forms import change, grid, signed, span
from evidence.studies.comparison import OTHERS_SCALE
from evidence.studies.drives import AGED, PERIOD_S, SPARE, blocks, figures, preset, trace_period_s
from evidence.studies.gains import keys, knee
from evidence.studies.ranges import LEAST
from evidence.study import CAPTURED, Data, Lab, Study
from flashtwin.papers.designs import CHOICES
from flashtwin.papers.rr_ssd.common import SETUP
from flashtwin.replays.presets import System
from flashtwin.settings import Value

Sets = Mapping[str, Value]

CLOCKS = (1.0, 3.0, 10.0)
#: Loads of a fitted drive, as shares of the clock at the knee of `conventional` (`evidence.studies.gains`).
LOADS = (0.1, 0.3, 1.0)
TWINS = ("kioxia-cm7-r-3840", "sk-hynix-pe8110-960")
#: The drive and set-up of the RR-SSD paper without the order, which it does not name.
PAPER: Sets = {
    "device": "rr-ssd", "replay.period_s": PERIOD_S,
    **{key: value for key, value in SETUP.sets.items() if key != "ftl.allocation.order"},
}  # fmt: skip
#: Of the aged drive, which is as small as the trace asks for: the paper's blocks of 256 would be 16 a plane.
BLOCK_PAGES = 32
_STATIC: Sets = {"ftl.allocation.policy": "static"}
FILLED, STRIPED = "pages fill a chip", "pages take turns"
ORDERS: Mapping[str, Sets] = {
    FILLED: {**_STATIC, "ftl.allocation.order": "PDWC"}, STRIPED: {**_STATIC, "ftl.allocation.order": "CWDP"},
}  # fmt: skip
PLACEMENTS: Mapping[str, Sets] = {
    **ORDERS,
    "the next chip in turn": {"ftl.allocation.policy": "dynamic"},
    "the chip of the shortest queue": {"ftl.allocation.policy": "least-loaded"},
    "the chip of the shortest wait": {"ftl.allocation.policy": "least-loaded", "engine.load": "expected-wait"},
}
_MERGED: Sets = {"engine.merge_reads": "same-content"}
_ZEROES: Sets = {"ftl.zero_page": "mapped"}
_FINISH: Sets = {"engine.load": "expected-wait"}
NOTHING, FREE, COPIES, BOTH = "nothing", "merging and zeroes", "copies", "all"
APART, SPREAD = "no page is shared", "duplicates are spread"
#: What may be done for reads: a design and keys. All but the last two deduplicate, so that only this differs.
MEANS: Mapping[str, tuple[str, Sets]] = {
    NOTHING: ("ca-ssd", {}),
    "merged reads": ("ca-ssd", _MERGED),
    "zeroes from the map": ("ca-ssd", _ZEROES),
    FREE: ("ca-ssd", {**_MERGED, **_ZEROES}),
    COPIES: ("rr-ssd", {}),
    "copies by finish time": ("rr-ssd", _FINISH),
    BOTH: ("rr-ssd", {**_MERGED, **_ZEROES, **_FINISH}),
    "every chip has all": ("oracle", _FINISH),
    APART: ("conventional", {}),
    # The preset merges, which is a means of its own here.
    SPREAD: ("ds-ftl", {"engine.merge_reads": "none"}),
}
#: Those that deduplicate, against the same design without.
SHOWN = [one for one in MEANS if one not in (NOTHING, APART, SPREAD)]
DECIDING = (NOTHING, FREE, COPIES, BOTH)
#: Choices that neither the question nor the paper fixes, one at a time on the paper's drive.
OTHERWISE: Mapping[str, Sets] = {
    "dies work alone": CHOICES["concurrency"]["die"],
    "planes work alone": CHOICES["concurrency"]["plane"],
    "writes complete when programmed": CHOICES["write completes"]["programmed"],
    "a hash unit of one lane": CHOICES["hashing"]["1 lane"],
    "ties in turn": {"ftl.redirection.ties": "next-in-turn"},
    "ties at random": {"ftl.redirection.ties": "random"},
    "space for copies of 0.3": {"ftl.replication.alpha": 0.3},
    "at most two copies": CHOICES["copies"]["at most 2"],
    "one copy in four reads": CHOICES["copies"]["0.25 a read"],
    "periods of half a day": {"replay.period_s": PERIOD_S / 2},
    "periods of two days": {"replay.period_s": PERIOD_S * 2},
    "reads suspend programs": CHOICES["suspension"]["program-erase"],
    "reads wait for programs": CHOICES["buffer reads"]["off"],
    "stripes of four pages": {"ftl.allocation.stripe_pages": 4},
}
HALF = "half of a trace"
FIGURES = ("read_ns", "read_p99_ns", "all_ns", "programs")


def measure(lab: Lab) -> Data:
    grounds: dict[str, dict[str, Any]] = {}

    def add(ground: str, trace: str, found: Mapping[str, Any]) -> None:
        grounds.setdefault(ground, {})[trace] = found

    screened = {}
    for name in CAPTURED:
        trace = lab.trace(name)
        screened[name] = _screened(lab, trace)
        add("paper", name, _cases(lab, trace, PAPER, CLOCKS, PLACEMENTS, MEANS))
        for half in _halves(trace):
            add(HALF, half.name, _cases(lab, lab.note(half), PAPER, CLOCKS))
        small = {**PAPER, **AGED, "nand.pages_per_block": BLOCK_PAGES}
        small["nand.blocks_per_plane"] = blocks(trace, _system("ca-ssd", small), SPARE)
        add("aged", name, _cases(lab, trace, small, CLOCKS))
        for label, sets in OTHERWISE.items():
            add(label, name, _cases(lab, trace, {**PAPER, **sets}, CLOCKS))
        for twin in TWINS:
            drive = keys(twin, trace)
            fastest = 2.0 ** knee(lab, trace, drive)
            found = _cases(lab, trace, {**drive, "engine.hash_lanes": 0}, [fastest * load for load in LOADS])
            add(twin, name, dict(zip((f"{load:g}" for load in LOADS), found.values(), strict=True)))
    return {"grounds": grounds, "screened": screened}


def measure_others(lab: Lab) -> Data:
    """The same questions on workloads that no answer was made by."""
    found = {}
    for name, trace in lab.others(OTHERS_SCALE):
        found[name] = _cases(lab, trace, {**PAPER, "replay.period_s": trace_period_s(trace)}, CLOCKS)
    return {"cases": found}


def _halves(trace: ft.Trace) -> Iterator[ft.Trace]:
    middle = int(trace.info["duration_ns"]) / 2e9
    yield from (trace.excerpt(to_s=middle), trace.excerpt(from_s=middle))


def _screened(lab: Lab, trace: ft.Trace) -> Mapping[str, float | None]:
    """The mean read of `ca-ssd` under every order, at the clock of the trace."""
    orders = ["".join(order) for order in permutations("CWDP")]
    systems = {one: _system("ca-ssd", PAPER, _STATIC, {"ftl.allocation.order": one}) for one in orders}
    return {one: found.get("response.read.mean_ns") for one, found in lab.replays(trace, systems).items()}


def _system(design: str, *sets: Sets) -> System:
    # A design that hashes nothing has no hash unit.
    hashed = [{key: of[key] for key in of if design != "conventional" or key != "engine.hash_lanes"} for of in sets]
    return preset(design, design, *hashed)


def _cases(
    lab: Lab,
    trace: ft.Trace,
    ground: Sets,
    clocks: Iterable[float],
    placements: Mapping[str, Sets] = ORDERS,
    means: Iterable[str] = DECIDING,
) -> dict[str, Any]:
    """By clock, placement and means: the figures of a replay. The keys of the means come last."""
    found: dict[str, Any] = {}
    for clock in clocks:
        systems = {
            (place, one): _system(MEANS[one][0], ground, sets, MEANS[one][1], {"replay.speed": clock})
            for place, sets in placements.items()
            for one in means
        }
        named = {f"{place}, {one}": system for (place, one), system in systems.items()}
        kept = lab.replays(trace, named)
        found[f"{clock:g}"] = {
            place: {one: figures(kept[f"{place}, {one}"], *FIGURES) for one in means} for place in placements
        }
    return found


#: The questions: what is compared, before and after, each a placement and means.
QUESTIONS: Mapping[str, tuple[tuple[str, str], tuple[str, str]]] = {
    "placing alone": ((FILLED, NOTHING), (STRIPED, NOTHING)),
    "copying alone": ((FILLED, NOTHING), (FILLED, COPIES)),
    "both": ((FILLED, NOTHING), (STRIPED, COPIES)),
    "copies where pages take turns": ((STRIPED, NOTHING), (STRIPED, COPIES)),
    "copies beside merging and zeroes": ((STRIPED, FREE), (STRIPED, BOTH)),
}
#: The same for DS-FTL, whose drive shares no pages.
SPREADING = {
    "placing alone": ((FILLED, APART), (STRIPED, APART)),
    "spreading alone": ((FILLED, APART), (FILLED, SPREAD)),
    "both": ((FILLED, APART), (STRIPED, SPREAD)),
    "spreading where pages take turns": ((STRIPED, APART), (STRIPED, SPREAD)),
}


Question = tuple[tuple[str, str], tuple[str, str]]


def answers(cases: Mapping[str, Data], question: Question, clock: str, figure: str = "read_ns") -> list[float]:
    """The change of a figure in each case of a ground at a clock."""
    before, after = question
    found = (
        change(case[clock][before[0]][before[1]][figure], case[clock][after[0]][after[1]][figure])
        for case in cases.values()
    )
    return [one for one in found if one is not None]


def _spans(cases: Mapping[str, Data], questions: Mapping[str, Question], figure: str = "read_ns") -> list[str]:
    """A row a clock, or a share of the knee; a column a question with the range over the traces."""
    rows = (
        [clock, *(span(answers(cases, one, clock, figure), signed) for one in questions.values())]
        for clock in next(iter(cases.values()))
    )
    return grid(["clock", *questions], rows)


def pages(data: Data) -> Data:
    grounds = data["grounds"]
    paper = grounds["paper"]
    drive = {name: of for name, of in grounds.items() if name not in TWINS}
    clocks = [f"{clock:g}" for clock in CLOCKS]
    return {
        "alone": _spans(paper, QUESTIONS),
        "p99": _spans(paper, QUESTIONS, "read_p99_ns"),
        "spread": _spans(paper, SPREADING),
        "traces": _by_trace(paper, clocks),
        "twins": {twin: _spans(grounds[twin], QUESTIONS) for twin in TWINS},
        "choices": _choices(drive, clocks),
        "over": {name: {clock: _over(drive, one, clock) for clock in clocks} for name, one in QUESTIONS.items()},
        "over_twins": {
            name: [found for twin in TWINS for load in LOADS for found in answers(grounds[twin], one, f"{load:g}")]
            for name, one in QUESTIONS.items()
        },
        "placing_first": {clock: _placing_first(drive, clock) for clock in clocks},
        "aged_harm": [
            trace for trace, case in grounds["aged"].items()
            if all(answers({trace: case}, QUESTIONS[MARGINAL[0]], clock)[0] > LEAST for clock in clocks)
        ],
        "programs": answers(paper, QUESTIONS[MARGINAL[0]], "1", "programs"),
        "orders": _orders(data["screened"]),
        "placements": _placements(paper, clocks),
        "grounds": len(grounds), "choices_made": len(OTHERWISE), "twin_names": list(TWINS),
        "cases": sum(len(of) for cases in grounds.values() for of in cases.values()),
    }  # fmt: skip


def others_pages(data: Data) -> Data:
    cases = data["cases"]
    clocks = [f"{clock:g}" for clock in CLOCKS]
    return {
        "traces": len(cases), "table": _spans(cases, QUESTIONS),
        "placing_first": {clock: _placing_first({"": cases}, clock) for clock in clocks},
        "more": {clock: answers(cases, QUESTIONS[MARGINAL[0]], clock) for clock in clocks},
    }  # fmt: skip


#: The questions about copies beside what placing brings.
MARGINAL = ("copies where pages take turns", "copies beside merging and zeroes")


def _choices(drive: Mapping[str, Mapping[str, Data]], clocks: Sequence[str]) -> list[str]:
    rows = (
        ["as above" if name == "paper" else name,
         *(span(answers(cases, QUESTIONS[one], clock), lambda share: signed(share, 0))
           for one in MARGINAL for clock in clocks)]
        for name, cases in drive.items()
    )  # fmt: skip
    return grid(["choice", *(f"{one}, {clock}" for one in MARGINAL for clock in clocks)], rows)


def _over(drive: Mapping[str, Mapping[str, Data]], question: Question, clock: str) -> dict[str, Any]:
    """The range of an answer over traces, ages and choices, and the choice that moves its mean most."""
    found = {name: answers(cases, question, clock) for name, cases in drive.items()}
    means = {name: statistics.fmean(of) for name, of in found.items() if name != HALF}
    most = max(means, key=lambda name: abs(means[name] - means["paper"]))
    every = [one for of in found.values() for one in of]
    return {
        "all": every, "falls": sum(one < -LEAST for one in every), "rises": sum(one > LEAST for one in every),
        "most": most, "moves": means[most] - means["paper"],
    }  # fmt: skip


def _placing_first(drive: Mapping[str, Mapping[str, Data]], clock: str) -> dict[str, Any]:
    """In how many cases placing alone leaves shorter reads than copying alone, the same, and longer ones."""
    (placed, copied), others = (QUESTIONS[one] for one in ("placing alone", "copying alone")), []
    cases = ties = 0
    for name, of in drive.items():
        for trace, case in of.items():
            moved = [answers({trace: case}, one, clock) for one in (placed, copied)]
            if not all(moved):
                # Nothing is read.
                continue
            cases += 1
            (by_placing,), (by_copying,) = moved
            if abs(by_placing - by_copying) <= LEAST:
                ties += 1
            elif by_placing > by_copying:
                others.append(f"{trace} ({name})")
    return {"cases": cases, "ties": ties, "holds": cases - ties - len(others), "not": others}


def _by_trace(paper: Mapping[str, Data], clocks: Sequence[str]) -> list[str]:
    """The mean read in microseconds, where pages take turns, and the changes against nothing."""
    rows = []
    for trace, case in paper.items():
        for clock in clocks:
            here = case[clock][STRIPED]
            base = here[NOTHING]["read_ns"]
            cells = [signed(change(base, here[one]["read_ns"])) for one in SHOWN]
            filled = case[clock][FILLED][NOTHING]["read_ns"]
            rows.append([f"`{trace}`", clock, f"{filled / 1000:,.1f}", f"{base / 1000:,.1f}", *cells])
    head = ["trace", "clock", f"{FILLED}, us", f"{STRIPED}, us", *SHOWN]
    return grid(head, rows)


def _placements(paper: Mapping[str, Data], clocks: Sequence[str]) -> list[str]:
    """The mean read with and without copies by placement, against pages that take turns without copies."""

    def cells(place: str, clock: str) -> Iterator[str]:
        for means in (NOTHING, COPIES):
            moves = (
                change(case[clock][STRIPED][NOTHING]["read_ns"], case[clock][place][means]["read_ns"])
                for case in paper.values()
            )
            yield span(moves, lambda share: signed(share, 0))

    head = ["placement", *(f"{what}, {clock} times" for clock in clocks for what in ("no copies", "copies"))]
    return grid(head, ([place, *(cell for clock in clocks for cell in cells(place, clock))] for place in PLACEMENTS))


def _orders(screened: Mapping[str, Mapping[str, float]]) -> Data:
    """Orders in classes: those whose mean read differs by less than a hundredth on every trace are one."""
    classes: list[list[str]] = []
    first = next(iter(screened.values()))
    for order in sorted(first, key=lambda one: sum(of[one] for of in screened.values())):
        near = [one for one in classes if all(abs(of[order] / of[one[0]] - 1.0) < LEAST for of in screened.values())]
        if near:
            near[0].append(order)
        else:
            classes.append([order])
    rows = [
        [
            ", ".join(sorted(one)),
            span((of[order] / of["CWDP"] - 1.0 for of in screened.values() for order in one), signed),
        ]
        for one in classes
    ]
    return {"classes": len(classes), "table": grid(["orders", "mean read against CWDP"], rows)}


CODE = (
    *code.REPLAY, "evidence/studies/gains.py", "python/flashtwin/papers/designs.py",
    "python/flashtwin/papers/rr_ssd.toml", "python/flashtwin/papers/rr_ssd/common.py",
)  # fmt: skip
OTHERS = Study(
    "placement-others", "the same on workloads that no answer was made by", measure_others, others_pages, CODE,
    needs="public traces, `--samples DIR`",
)  # fmt: skip
STUDY = Study("placement", "when copying is better than placing", measure, pages, (*CODE, *code.TWINS))
