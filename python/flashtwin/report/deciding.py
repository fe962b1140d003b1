"""The table of candidates on the first screen: the best figure of each, and its cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from flashtwin import units
from flashtwin.judgement import choosing, facts
from flashtwin.judgement.choosing import RankedSystem
from flashtwin.results.reading import StudyFolder

from .charts.candidates import shown, times

#: Rows that stand on the first screen; the others are folded.
FEW = 5
_YEARS = 1000.0

#: A text, the value to sort by, and whether it is `better` or `worse`.
Cell = tuple[str, float | None, str]


@dataclass(frozen=True)
class CandidateRow:
    """A system: its name, its settings, whether it is the choice, and cells, each text with a value to sort by."""

    name: str
    settings: str
    is_choice: bool
    cells: list[Cell]


def table(study: StudyFolder) -> dict[str, Any]:
    """Columns and rows, the best first."""
    found = study.candidates
    first = choosing.chosen(found)
    ranked = choosing.ranking(found)
    drive = found["device"] if found["elsewhere"] else None
    columns = ["As it is", "Settings", "And cache", "Change", *([f"On {drive}"] if drive else [])]
    columns += ["Programs", "Years", "RAM", "Lanes"]
    few = shown(found, FEW)
    names = [one.name for one in few]
    rows = [_row(one, found, drive, first) for one in [*few, *(one for one in ranked if one.name not in names)]]
    return {"candidates": rows, "candidate_columns": columns, "few_candidates": len(few)}


def _row(one: RankedSystem, found: Mapping[str, Any], drive: str | None, first: RankedSystem | None) -> CandidateRow:
    is_choice = first is not None and one.name == first.name
    return CandidateRow(one.name, choosing.settings(one.best), is_choice, _cells(one, found, drive))


def _cells(one: RankedSystem, found: Mapping[str, Any], drive: str | None) -> list[Cell]:
    falls_behind = one.best["late"] is not None
    cells: list[Cell] = [(units.duration(value), value, "") for value in times(one)]
    sense = "better" if facts.gains(one.change) else "worse" if facts.loses(one.change) else ""
    change = (
        "falls behind" if falls_behind else "baseline" if one.name == found["baseline"] else units.change(one.change)
    )
    cells.append((change, one.change, "worse" if falls_behind else sense))
    if drive is not None:
        there = found["elsewhere"].get(one.name)
        value = None if there is None else float(there["after_ns"])
        cells.append((units.duration(value), value, ""))
    cells.append((units.count(float(one.best["programs"])), float(one.best["programs"]), ""))
    cells.append((_life(one.best["life_years"]), one.best["life_years"], ""))
    cells.append((units.size(float(one.best["ram_bytes"])), float(one.best["ram_bytes"]), ""))
    lanes = int(one.best["hash_lanes"])
    cells.append((str(lanes) if lanes else "", float(lanes), ""))
    return cells


def _life(years: float | None) -> str:
    """Years of life at the write rate of the trace; beyond a thousand the number says nothing."""
    if years is None:
        return units.MISSING
    return "> 1,000" if years > _YEARS else units.significant(years)
