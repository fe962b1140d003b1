"""A sweep as people and machines read it on the terminal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from flashtwin.cli._talk import data, data_json, say, table
from flashtwin.results import figures
from flashtwin.results.names import SWEEP_ROWS
from flashtwin.results.names import table as table_file
from flashtwin.sweeps.swept import Sweep

#: Points shown; the table has all.
_SHOWN = 20


def show(done: Sweep, *, as_json: bool) -> None:
    """Prints the points with the figures of the trade-off; for machines all of them, with their commands."""
    if as_json:
        data_json(_said(done))
        return
    wanted = [figures.figure(name) for name in [*_goals(done), *done.plan.trade]]
    columns = list({one.path: one for one in wanted}.values())
    rows = done.to_arrow().to_pylist()
    best = _best(done)
    swept = [f"config.{key}" for key, values in done.plan.axes.items() if len(values) > 1]
    shown = rows
    if best is not None and len(rows) > _SHOWN:
        shown = [row for row in rows if row["trial"] == best["trial"]] if "trial" in best else [best]
    header = ["point", "trace", "system", *(key.rpartition(".")[2] for key in swept), *(_head(one) for one in columns)]
    data(table(header, [_cells(row, swept, columns) for row in shown[:_SHOWN]]))
    if len(rows) > len(shown[:_SHOWN]):
        data(f"{len(rows)} points in all")
    if best is not None and "trial" in best:
        _say_over(done, best)
    elif best is not None:
        data(f"best: point {best['point']}, `{done.plan.points[best['point'] - 1].command}`")
    for number, error in list(done.errors.items())[:_SHOWN]:
        say(f"point {number} refused: {error}")
    if not done.complete:
        say(done.state)
    if done.report.is_file():
        data(f"table: {table_file(done.path, SWEEP_ROWS)}")
        data(f"report: {done.report}")


def _say_over(done: Sweep, best: Mapping[str, Any]) -> None:
    """The best setting over several traces, and how to make each of its runs."""
    figure, search = figures.figure(_goals(done)[0]), done.plan.search
    kind = {"mean": "the geometric mean", "worst": "the worst"}[search["over"]]
    value = best[f"over.{figure.path}"]
    beside = f"{value:,.3f} of that of `{search['reference']}` as it is"
    data(f"best: trial {best['trial']}, {figure.label} {beside}, {kind} over the traces")
    for point in done.plan.points:
        if point.trial == best["trial"]:
            data(f"  {point.trace}: `{point.command}`")


def _best(done: Sweep) -> dict[str, Any] | None:
    goals = _goals(done)
    return done.best(goals[0], done.plan.search["subject_to"]) if len(goals) == 1 else None


def _goals(done: Sweep) -> list[str]:
    search = done.plan.search
    return [*search.get("minimize", []), *search.get("maximize", [])]


def _head(figure: figures.Figure) -> str:
    return {"ns": f"{figure.label}, us", "bytes": f"{figure.label}, MB"}.get(figure.unit, figure.label)


def _cells(row: Mapping[str, Any], swept: list[str], columns: list[figures.Figure]) -> list[str]:
    values = [_cell(row.get(one.path), one) for one in columns]
    if row["status"] != "done":
        values = [str(row["status"]), *("" for _ in values[1:])]
    named = [str(row["point"]), str(row["trace"]), str(row["system"])]
    return [*named, *("-" if row.get(key) is None else f"{row[key]}" for key in swept), *values]


def _cell(value: float | None, figure: figures.Figure) -> str:
    if value is None:
        return "-"
    if figure.unit in ("ns", "bytes"):
        return f"{value / {'ns': 1e3, 'bytes': 1e6}[figure.unit]:,.1f}"
    return f"{value:,}" if isinstance(value, int) else f"{value:,.3f}"


def _said(done: Sweep) -> dict[str, Any]:
    status = {row["point"]: row for row in done.to_arrow().select(["point", "status", "error"]).to_pylist()}
    best = _best(done)
    return {
        "report": str(done.report) if done.report.is_file() else None,
        "complete": done.complete,
        "counts": done.counts,
        "best": None if best is None else best["point"],
        "points": [{**asdict(one), **status[one.point]} for one in done.plan.points],
    }
