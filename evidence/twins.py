"""Tables and pictures of drives that were measured, beside their twins."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

from evidence.forms import count, grid, points, ratio
from flashtwin.drives.comparing import BELOW_THE_KNEE, CLOSED_LOOP, SATURATED

Drive = Mapping[str, Any]
#: Percentiles of the picture, lightest first.
_SHOWN = (("read p50", "#0077bb"), ("read p99", "#ee7733"), ("read p99.9", "#cc3311"), ("write p50", "#009988"))
#: The errors of the table over all drives: regime and figure.
#: Errors of rates in percent that are named.
_FAR = 25.0
_SUMMARY = (
    (BELOW_THE_KNEE, "read p50"), (BELOW_THE_KNEE, "read p99"), (BELOW_THE_KNEE, "read p99.9"),
    (BELOW_THE_KNEE, "write p50"), (SATURATED, "read p50"), (SATURATED, "requests"),
    (CLOSED_LOOP, "write amplification, uniform"), (CLOSED_LOOP, "write amplification, skewed"),
    (CLOSED_LOOP, "writes, skewed"), (CLOSED_LOOP, "writes"),
)  # fmt: skip


def error(drive: Drive, regime: str, figure: str, *, is_fitted: bool = False, worst: bool = False) -> float | None:
    """The mean, or the worst, absolute error in percent of a figure; None where the drive has no such row."""
    for one in drive["errors"]:
        if (one["regime"], one["figure"], one["is_fitted"]) == (regime, figure, is_fitted):
            return float(one["worst_percent" if worst else "mean_percent"])
    return None


def least(drives: Mapping[str, Drive], figure: str) -> float:
    """The least mean error of a figure below the knee, of predicted rows, over the drives."""
    return min(_below(drives, figure))


def most(drives: Mapping[str, Drive], figure: str) -> float:
    """The greatest."""
    return max(_below(drives, figure))


def _below(drives: Mapping[str, Drive], figure: str) -> list[float]:
    found = (error(drive, BELOW_THE_KNEE, figure) for drive in drives.values())
    return [one for one in found if one is not None]


def worst_writes(drives: Mapping[str, Drive]) -> str:
    """The rates of skewed patterns that are off by more than a quarter, with their errors."""
    rows = [(name, row) for name, drive in drives.items() for row in drive["rows"]
            if row["regime"] == CLOSED_LOOP and row["unit"] == "1/s" and abs(row["error_percent"]) > _FAR]  # fmt: skip
    return "; ".join(f"{name}, {row['experiment']}, {points(row['error_percent'], 0)}" for name, row in rows)


def far_reads(drives: Mapping[str, Drive]) -> str:
    """The rates at which reads of a drive have a p99 more than twice the twin's, with both."""
    rows = [(name, row) for name, drive in drives.items() for row in drive["rows"]
            if row["regime"] == BELOW_THE_KNEE and row["figure"] == "read p99"
            and row["measured"] > 2 * row["predicted"]]  # fmt: skip
    told = (f"{name} at {row['experiment'].removeprefix('open loop, ')}, {_pair(row)} us" for name, row in rows)
    return "; ".join(told) or "none"


def twin_errors(drives: Mapping[str, Drive]) -> str:
    """Mean and worst error of the rows that were predicted: a row a figure, a column a drive."""
    rows = [
        [figure, regime, *(_both(drive, regime, figure) for drive in drives.values())] for regime, figure in _SUMMARY
    ]
    return grid(["figure", "rows", *drives], [row for row in rows if set(row[2:]) != {points(None)}])


def _both(drive: Drive, regime: str, figure: str) -> str:
    mean, worst = (error(drive, regime, figure, worst=one) for one in (False, True))
    return points(None) if mean is None else f"{points(mean)} ({points(worst, 0)})"


def twin_rates(drive: Drive) -> str:
    """Measured and predicted response times, a row a rate."""
    experiments: dict[str, list[Mapping[str, Any]]] = {}
    for row in drive["rows"]:
        if row["regime"] != CLOSED_LOOP:
            experiments.setdefault(row["experiment"], []).append(row)
    figures = [figure for figure, _ in _SHOWN]
    lines = []
    for experiment, rows in experiments.items():
        by_figure = {row["figure"]: row for row in rows}
        cells = [_pair(by_figure.get(figure)) for figure in figures]
        kind = "fitted" if rows[0]["is_fitted"] else "predicted"
        lines.append([experiment.removeprefix("open loop, "), kind, rows[0]["regime"], *cells])
    return grid(["offered", "row", "regime", *(f"{figure}, us" for figure in figures)], lines)


def _pair(row: Mapping[str, Any] | None) -> str:
    return points(None) if row is None else f"{count(row['measured'])} / {count(row['predicted'])}"


def twin_writes(drive: Drive) -> str:
    """Write amplification and rates in closed loop; empty where there are none."""
    rows = [row for row in drive["rows"] if row["regime"] == CLOSED_LOOP]
    lines = [
        [row["experiment"], row["figure"].partition(",")[0], "fitted" if row["is_fitted"] else "predicted",
         *((ratio(row[key]) if not row["unit"] else count(row[key])) for key in ("measured", "predicted")),
         points(row["error_percent"])]
        for row in rows
    ]  # fmt: skip
    return grid(["written", "figure", "row", "measured", "twin", "error"], lines) if lines else ""


def twin_keys(drive: Drive) -> str:
    """Keys that the measurements determine, and keys that they do not."""
    found = [one for one in drive["estimates"] if one["is_measured"]]
    return grid(["figure", "value", "95 %", "told by"], (
        [f"`{one['key']}`", _value(one["value"], one["unit"]), _interval(one), one["source"]] for one in found
    ))  # fmt: skip


def twin_unknown(drive: Drive) -> str:
    """The keys that the measurements do not determine."""
    return ", ".join(f"`{one['key']}`" for one in drive["estimates"] if not one["is_measured"] and "." in one["key"])


def _value(value: Any, unit: str) -> str:
    if isinstance(value, list):
        return f"{', '.join(f'{one:g}' for one in sorted(set(value)))} {unit}".rstrip()
    return f"{value:.4g} {unit}".rstrip() if isinstance(value, int | float) else str(value)


def _interval(one: Mapping[str, Any]) -> str:
    return points(None) if one["low"] is None or one["high"] is None else f"{one['low']:.4g} to {one['high']:.4g}"


def picture(name: str, drive: Drive) -> str:
    """Response times against the rate: the drive as dots, filled where it was fitted, and the twin as a line. SVG."""
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": name, "font.size": 9}):
        figure = Figure(figsize=(7.2, 3.4), layout="constrained")
        axes = figure.add_subplot()
        for wanted, colour in _SHOWN:
            rows = [row for row in drive["rows"] if row["figure"] == wanted and row["regime"] != CLOSED_LOOP]
            rates = [_rate(row["experiment"]) for row in rows]
            axes.plot(rates, [row["predicted"] for row in rows], color=colour, linewidth=1.2, label=wanted)
            for is_fitted, face in ((True, colour), (False, "white")):
                dots = [(rate, row["measured"]) for rate, row in zip(rates, rows, strict=True)
                        if row["is_fitted"] == is_fitted]  # fmt: skip
                axes.plot(*_columns(dots), "o", markersize=4, color=colour, markerfacecolor=face)
        axes.set(xlabel="thousand requests offered a second", ylabel="response time, us", yscale="log", title=name)
        axes.legend(frameon=False, ncols=len(_SHOWN), fontsize=8, loc="upper left")
        axes.grid(visible=True, which="major", linewidth=0.4, alpha=0.5)
        out = io.StringIO()
        figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
    # Text with blanks at the ends of lines is no tidy file.
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines()) + "\n"


def _rate(experiment: str) -> float:
    return float(experiment.removeprefix("open loop, ").removesuffix("/s").replace(",", "")) / 1e3


def _columns(dots: Sequence[tuple[float, float]]) -> tuple[list[float], list[float]]:
    return [x for x, _ in dots], [y for _, y in dots]


WORDS = {
    "twin_errors": twin_errors, "twin_rates": twin_rates, "twin_writes": twin_writes, "twin_keys": twin_keys,
    "twin_unknown": twin_unknown, "twin_error": error,
    "twin_least": least, "twin_most": most, "worst_writes": worst_writes, "far_reads": far_reads,
}  # fmt: skip
