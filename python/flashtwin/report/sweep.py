"""The page of a sweep: the trade-off, small multiples, every point with its command."""

from collections.abc import Mapping, Sequence
from typing import Any

from flashtwin import units
from flashtwin.results import figures, over
from flashtwin.results.sweeps import SavedSweep, is_sweep, load, number
from flashtwin.results.variation import alike, joined

from . import colours
from .charts.sweeps import OVER_WORDS, charts, hues_of
from .page import filled
from .rendering import RenderedChart, figure_of

__all__ = ["charts", "is_sweep", "load", "page"]


def page(found: SavedSweep, rendered: Sequence[RenderedChart]) -> str:
    trade, *multiples = rendered
    best = found.best
    lights = [light for light, _ in colours.PAGE_PAIRS]
    return filled(
        "sweep.html.j2",
        title=found.folder.resolve().name,
        lead=_lead(found),
        warnings=_warnings(found),
        facts=[*_facts(found), *(("Trade-off", one) for one in trade.drawing.absent)],
        best=None if best is None else _best(found, best),
        several=found.over is not None,
        trade=[figure_of(trade)] if trade.drawing.frame is not None else [],
        multiples=[figure_of(one) for one in multiples],
        shown=found.columns.shown,
        equal=_equal(found),
        keys=list(found.axes),
        points=[_point(found, rows) for rows in alike(found.rows)],
        one_trace=len(found.traces) == 1,
        one_system=len(found.systems) == 1,
        place_of={name: lights.index(hue) for name, hue in hues_of(found).items()},
        version=str(found.plan.get("flashtwin") or "version not recorded"),
    )


def _lead(found: SavedSweep) -> str:
    parts = [units.plural(len(found.rows), "point"), units.plural(len(found.systems), "system")]
    parts.append(found.traces[0] if len(found.traces) == 1 else units.plural(len(found.traces), "trace"))
    return " · ".join(parts)


def _warnings(found: SavedSweep) -> list[str]:
    said = []
    missing, failed = found.counts["missing"], found.counts["failed"]
    if missing:
        said.append(
            f"This sweep is partial: {units.plural(missing, 'point')} of {units.count(len(found.rows))} "
            f"{'is' if missing == 1 else 'are'} missing. Nothing on this page is a mean over points that are missing; "
            "the same command again makes them."
        )
    elif not found.complete:
        said.append("This search has not ended: what stands here is the best so far. The same command goes on with it.")
    if failed:
        said.append(f"{units.plural(failed, 'point')} {'was' if failed == 1 else 'were'} refused; the table says why.")
    return said + [effect.line for effect in found.effects]


def _facts(found: SavedSweep) -> list[tuple[str, str]]:
    search = found.search
    rows = [("Traces", ", ".join(found.traces)), ("Systems", ", ".join(found.systems))]
    for key, values in found.axes.items():
        # Of a range, the ends are known: the drawn values lie between them.
        drawn = len(values) == 2 and any(
            point["settings"].get(key) not in (*values, None) for point in found.plan["points"]
        )
        rows.append((key, " to ".join(values) if drawn else _few(values)))
    fixed = {key: values[0] for key, values in found.plan["axes"].items() if len(values) == 1}
    rows += list(fixed.items())
    if search:
        goals = (("Minimized", search.get("minimize")), ("Maximized", search.get("maximize")))
        rows += [(title, ", ".join(found_of)) for title, found_of in goals if found_of]
        rows.append(("Subject to", str(search["subject_to"]) or "nothing"))
        tried = len(found.rows) if found.over is None else len({row["trial"] for row in found.rows}) - 1
        if found.over is not None:
            rows.append(("Over the traces", f"{OVER_WORDS[found.over]} to {search['reference']} as it is, trial 0"))
        rows.append(("Trials", f"{units.count(tried)} of at most {units.count(search['trials'])}"))
    else:
        kinds = {"grid": "each value with each", "zip": "values side by side", "sample": "drawn by a seed"}
        rows.append(("Points", kinds[found.plan["mode"]]))
    return rows


def _equal(found: SavedSweep) -> list[str]:
    """Figures that are equal at every point, and have no column."""
    same = [("trace", found.traces), ("system", found.systems)]
    said = [f"{what} {values[0]}" for what, values in same if len(values) == 1]
    return said + [f"{one.label} {one.written(value)}" for one, value in found.columns.equal]


def _few(values: list[str]) -> str:
    return (
        ", ".join(values) if len(values) <= 12 else f"{', '.join(values[:5])}, …, {values[-1]} ({len(values)} values)"
    )


def _best(found: SavedSweep, row: Mapping[str, Any]) -> dict[str, Any]:
    """The best point; of a search over several traces the best setting, with its gain over all of them and on each."""
    rows = [row] if found.best_trial is None else found.best_trial.rows
    plans = [found.plan["points"][found.rows.index(one)] for one in rows]
    figures_of = (f"{one.label} {one.written(number(row, one))}" for one in found.columns.shown[:4])
    point = f"Point {row['point']}, {row['system']}: {', '.join(figures_of)}"
    return {
        "text": point if found.best_trial is None else _gain(found, found.best_trial, plans[0]["system"]),
        "settings": ", ".join(f"{key} = {text}" for key, text in plans[0]["settings"].items()),
        "commands": [plan["command"] for plan in plans],
    }


def _gain(found: SavedSweep, trial: over.Trial, system: str) -> str:
    one = figures.figure(found.goals[0])
    each = ", ".join(
        f"{one.written(number(row, one))} on {row['trace']} ({units.ratio(row[f'ratio.{one.path}'])})"
        for row in trial.rows
    )
    brings = f"{units.ratio(trial.ratios[0])} of what {found.search['reference']} has as it is"
    return f"Trial {trial.number}, {system}: {one.label} {brings}, {OVER_WORDS[found.search['over']]}: {each}"


def _point(found: SavedSweep, rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    first = rows[0]
    return {
        "number": joined(rows, "point"),
        "trial": joined(rows, "trial"),
        "trace": first["trace"],
        "system": first["system"],
        "status": first["status"],
        "error": first["error"],
        "values": [joined(rows, f"config.{key}") or units.MISSING for key in found.axes],
        "cells": [one.written(number(first, one)) for one in found.columns.shown],
        "command": found.plan["points"][found.rows.index(first)]["command"],
    }
