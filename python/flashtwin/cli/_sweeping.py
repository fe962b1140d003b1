"""A sweep as people and machines read it on the terminal."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from flashtwin.cli._talk import data, data_json, say, show_page, table
from flashtwin.results import figures, variation
from flashtwin.results.names import SWEEP_ROWS
from flashtwin.results.names import table as table_file
from flashtwin.sweeps.swept import Sweep

#: Runs shown; the table has all.
_SHOWN = 20
_FIGURES = 5


def show(done: Sweep, *, as_json: bool) -> None:
    if as_json:
        data_json(_said(done))
        return
    saved, best = done._saved, done._saved.best
    rows = saved.rows
    swept = [f"config.{key}" for key, values in done.plan.axes.items() if len(values) > 1]
    asked = [figures.figure(name) for name in dict.fromkeys([*saved.goals, *done.plan.trade])]
    columns = variation.columns(rows, asked, closed=saved.is_closed, at_most=_FIGURES)
    runs = shown = variation.alike(rows)
    if best is not None and len(runs) > _SHOWN:
        at = "trial" if "trial" in best else "point"
        shown = [run for run in runs if any(row[at] == best[at] for row in run)]
    named = [name for name in ("trace", "system") if len({row[name] for row in rows}) > 1]
    header = ["point", *named, *(key.rpartition(".")[2] for key in swept), *(_head(one) for one in columns.shown)]
    data(table(header, [_cells(run, [*named, *swept], columns.shown) for run in shown[:_SHOWN]]))
    if columns.equal:
        equal = ", ".join(f"{one.label} {one.written(value)}" for one, value in columns.equal)
        data(f"the same at every point: {equal}")
    if len(runs) > len(shown[:_SHOWN]):
        data(f"{len(rows)} points in all")
    if best is not None and "trial" in best:
        _say_over(done, best)
    elif best is not None:
        data(f"best: point {best['point']}, `{done.plan.points[best['point'] - 1].command}`")
    for number, error in list(done.errors.items())[:_SHOWN]:
        say(f"point {number} refused: {error}")
    if not done.complete:
        say(done.state)
    table_path = table_file(done.path, SWEEP_ROWS)
    if table_path.is_file():
        data(f"table: {table_path}")
        show_page(done.report if done.report.is_file() else None, done.path)


def _say_over(done: Sweep, best: Mapping[str, Any]) -> None:
    figure, search = figures.figure(done._saved.goals[0]), done.plan.search
    kind = {"mean": "the geometric mean", "worst": "the worst"}[search["over"]]
    value = best[f"over.{figure.path}"]
    beside = f"{value:,.3f} of that of `{search['reference']}` as it is"
    data(f"best: trial {best['trial']}, {figure.label} {beside}, {kind} over the traces")
    for point in done.plan.points:
        if point.trial == best["trial"]:
            data(f"  {point.trace}: `{point.command}`")


def _head(figure: figures.Figure) -> str:
    return {"ns": f"{figure.label}, us", "bytes": f"{figure.label}, MB"}.get(figure.unit, figure.label)


def _cells(run: Sequence[Mapping[str, Any]], named: list[str], columns: list[figures.Figure]) -> list[str]:
    """A run, with the points that it stands for."""
    first = run[0]
    values = [_cell(first.get(one.path), one) for one in columns]
    if first["status"] != "done":
        values = [str(first["status"]), *("" for _ in values[1:])]
    return [*(variation.joined(run, name) or "-" for name in ("point", *named)), *values]


def _cell(value: float | None, figure: figures.Figure) -> str:
    if value is None:
        return "-"
    if figure.unit in ("ns", "bytes"):
        return f"{value / {'ns': 1e3, 'bytes': 1e6}[figure.unit]:,.1f}"
    return f"{value:,}" if isinstance(value, int) else f"{value:,.3f}"


def _said(done: Sweep) -> dict[str, Any]:
    status = {row["point"]: {key: row[key] for key in ("point", "status", "error")} for row in done._saved.rows}
    best = done._saved.best
    return {
        "report": str(done.report) if done.report.is_file() else None,
        "complete": done.complete,
        "counts": done.counts,
        "best": None if best is None else best["point"],
        "points": [{**asdict(one), **status[one.point]} for one in done.plan.points],
    }
