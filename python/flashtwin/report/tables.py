"""The tables of a page: candidates, systems, traces."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from flashtwin import units
from flashtwin.judgement import facts
from flashtwin.judgement.choosing import Candidate, Decision
from flashtwin.judgement.costs import Life, life
from flashtwin.judgement.evidence import Evidence
from flashtwin.results import names
from flashtwin.results.reading import Collection, SavedRun, SavedTable, StudyFolder

from .charts.response import shown_candidates

#: Candidates that stand on the first screen; the others are folded.
FEW = 5

Source = TypeVar("Source")
#: Title, second line of the title, the figure, how it is written.
Column = tuple[str, str, Callable[[Source], float | None], Callable[[float | None], str]]

#: A text, the value to sort by, and whether it is `better` or `worse`.
CandidateCell = tuple[str, float | None, str]
#: Titles of the table of candidates, each with what it means.
_CANDIDATES = (
    ("Loss", "how much worse than the fastest, with its interval of 95 %, on blocks that it was not ranked by"),
    ("Programs", "pages programmed during the trace"),
    ("Price", "of flash worn, dies, RAM and hash lanes, by the prices of this study"),
    ("As configured", "the same figure of the system without these settings"),
    (
        "Years",
        "until the flash is worn out at the recorded clock; without collection, as the trace amplifies at OP 7 %",
    ),
    ("TBW", "that the host may write until then"),
    ("DWPD", "drive writes a day over a warranty of five years"),
    ("RAM", "of tables, as replayed"),
    ("Lanes", "of the hash unit"),
)


def candidates(of: Evidence) -> dict[str, Any]:
    """Columns and rows, the choice first; none where nobody looked."""
    made = of.decision
    if made is None or not made.is_searched:
        return {"candidates": [], "candidate_columns": [], "few_candidates": 0}
    few, capacity_bytes = shown_candidates(made, FEW), of.candidates["capacity_bytes"] or of.runs[0].raw_bytes
    rows = [
        {
            "name": one.run.name,
            "also": list(one.also),
            "settings": one.how,
            "is_choice": one is made.choice,
            "cells": _candidate(one, made, life(one.run.numbers, capacity_bytes, of.number("wa_partitions_1"))),
        }
        for one in [*few, *(one for one in made.candidates if one not in few)]
    ]
    columns = [(made.goal.name, f"{made.goal.words}, the goal"), *_CANDIDATES]
    return {"candidates": rows, "candidate_columns": columns, "few_candidates": len(few)}


def _candidate(one: Candidate, made: Decision, lasts: Life | None) -> list[CandidateCell]:
    value, loss = made.value(one), made.loss(one)
    told = "fastest" if one is made.fastest else loss.words(made.goal).rpartition(" ")[0]
    late = one.late is not None
    return [
        (made.goal.written(value), value, ""),
        ("falls behind" if late else told, loss.share, "worse" if late else ""),
        _number(one.run.number("pages_programmed"), units.count),
        _number(one.price, units.significant),
        _number(one.as_configured, made.goal.written),
        # Beyond a thousand years the number says nothing.
        _number(lasts and lasts.years, lambda years: "> 1,000" if years > 1000.0 else units.significant(years)),
        _number(lasts and lasts.written_bytes, units.size),
        _number(lasts and lasts.drive_writes_a_day, units.ratio),
        _number(one.run.number("ram.total_bytes"), units.size),
        _number(one.lanes or None, units.count),
    ]


def _number(value: Any, write: Callable[[float], str]) -> CandidateCell:
    return units.MISSING if value is None else write(value), value, ""


def _sense(change: float | None, *, more_is_better: bool = False) -> str:
    better, worse = (facts.loses, facts.gains) if more_is_better else (facts.gains, facts.loses)
    return "better" if better(change) else "worse" if worse(change) else ""


@dataclass(frozen=True)
class SystemCell:
    """A number of the table of systems, its change against the baseline, and whether that is good."""

    value: str
    change: str
    sense: str


def _field(path: str) -> Callable[[SavedRun], float | None]:
    return lambda run: run.number(path)


def _mean(kind: str) -> Callable[[SavedRun], float | None]:
    return lambda run: facts.mean(run, kind)


def _space(run: SavedRun) -> float | None:
    peak = run.number("space.pages_in_use_peak")
    return peak if peak is not None else run.number("space.pages_in_use")


#: Of what is served, more is better; of all others less is.
_SYSTEMS: tuple[Column[SavedRun], ...] = (
    ("Read", "mean", _mean("read"), units.duration),
    ("Read", "p99", _field("response.read.p99_ns"), units.duration),
    ("Read", "p99.9", _field("response.read.p99_9_ns"), units.duration),
    ("Write", "mean", _mean("write"), units.duration),
    ("Write", "p99", _field("response.write.p99_ns"), units.duration),
    ("Write", "p99.9", _field("response.write.p99_9_ns"), units.duration),
    ("Flush", "mean", _mean("flush"), units.duration),
    ("Flush", "p99", _field("response.flush.p99_ns"), units.duration),
    ("Served", "IOPS", _field("throughput.all.iops"), units.rate),
    ("Served", "MB/s", _field("throughput.all.mb_per_s"), units.rate),
    ("WA", "", _field("write_amplification"), units.ratio),
    ("Programs", "pages", _field("pages_programmed"), units.count),
    ("Erases", "", _field("erases.total"), units.count),
    ("Tables", "in RAM", _field("ram.total_bytes"), units.size),
    ("In use", "pages, peak", _space, units.count),
)


def systems(study: StudyFolder) -> tuple[list[tuple[str, str]], list[tuple[SavedRun, list[SystemCell]]]]:
    """Column titles, and one row of cells a run."""
    flushed = any(run.number("requests.flush") for run in study.runs)
    columns = [column for column in _SYSTEMS if flushed or column[0] != "Flush"]
    rows = []
    for run in study.runs:
        cells = []
        for title, _, get, write in columns:
            change = None if run is study.baseline else facts.change(get(run), get(study.baseline))
            sense = _sense(change, more_is_better=title == "Served")
            cells.append(SystemCell(write(get(run)), "" if change is None else units.change(change), sense))
        rows.append((run, cells))
    return [(title, second) for title, second, _, _ in columns], rows


TraceRow = tuple[SavedTable, int]


def _of(column: str, times: float = 1.0) -> Callable[[TraceRow], float | None]:
    def get(of: TraceRow) -> float | None:
        values = of[0].columns.get(column)
        return None if values is None or values[of[1]] != values[of[1]] else float(values[of[1]]) * times

    return get


_TRACES: tuple[Column[TraceRow], ...] = (
    ("Requests", "", _of("info.requests"), units.count),
    (
        "Writes",
        "of requests",
        lambda row: facts.share(_of("info.writes")(row), _of("info.requests")(row)),
        units.percent,
    ),
    ("Duration", "", _of("info.duration_ns"), units.duration),
    ("Footprint", "", _of("info.footprint_pages", 4096), units.size),
    ("Duplicates", "of page writes", _of("info.duplicate_write_percent"), units.percent),
    ("Partitions", "f_r ≤ 2", _of("partitions_fr2"), units.count),
    ("WA", "OP 7 %", _of("wa_partitions_1"), units.ratio),
    ("RA", "16 KiB pages", _of("ra_16384"), units.ratio),
)
TRACE_COLUMNS = [(title, second) for title, second, _, _ in _TRACES]


def traces(results: Collection) -> list[dict[str, Any]]:
    table = results.traces
    if table is None:
        return []
    listed = []
    for row, name in enumerate(table.texts.get("trace", ())):
        page = f"{names.TRACES}/{names.file_name(name)}/{names.REPORT}"
        link = page if (results.folder / page).is_file() else ""
        listed.append({"name": name, "link": link, "cells": [write(get((table, row))) for *_, get, write in _TRACES]})
    return listed
