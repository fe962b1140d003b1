"""Drives that were measured: each fitted on every other rate, the rows that were left out predicted, by three seeds."""

import json
import statistics
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

from evidence.code import ROOT
from evidence.forms import NOTHING, count, grid, points
from evidence.studies.gains import svg
from evidence.study import Data, Lab, Study
from flashtwin.drives import comparing, fitting, results
from flashtwin.drives.comparing import BELOW_THE_KNEE, CLOSED_LOOP, SATURATED
from flashtwin.drives.drive import FittedDrive
from flashtwin.results import folder

DEVICES = ROOT / "devices" / "real"
#: Who measured them.
SOURCE = "# Measurements: Haas, Lee, Bonnet, Leis: SSD-iq, PVLDB 18(11), 2025."
CODE = ("python/flashtwin/drives", "crates/nand/src", "crates/ftl/src", "crates/sim/src")
_SHOWN = (
    ("read p50", "#0077bb"), ("read p99", "#ee7733"), ("read p99.9", "#cc3311"), ("write p50", "#009988"),
    ("write p99.9", "#aa3377"),
)  # fmt: skip
#: Errors of rates in percent that are named.
_FAR = 25.0
_SUMMARY = (
    (BELOW_THE_KNEE, "read p50"), (BELOW_THE_KNEE, "read p99"), (BELOW_THE_KNEE, "read p99.9"),
    (BELOW_THE_KNEE, "write p50"), (BELOW_THE_KNEE, "write p99"), (BELOW_THE_KNEE, "write p99.9"),
    (SATURATED, "read p50"), (SATURATED, "requests"),
    (CLOSED_LOOP, "write amplification, uniform"), (CLOSED_LOOP, "write amplification, skewed"),
    (CLOSED_LOOP, "writes, skewed"), (CLOSED_LOOP, "writes"),
)  # fmt: skip


#: Of the loads of fits; that of a prediction is another. With the last one, a fit on all rows is made as well.
SEEDS = (0, 1, 2)


def measure(lab: Lab) -> Data:
    measurements = lab.folder("drives")
    names, scratch = results.drives(measurements), lab.scratch(f"real-drives-{STUDY.digest}")
    fits = [(name, seed, True) for name in names for seed in SEEDS] + [(name, SEEDS[0], False) for name in names]
    lab.reused |= any(_place(scratch, fit).is_file() for fit in fits)
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        found = {}
        for fit, made in zip(fits, pool.map(partial(_kept, scratch, measurements), fits), strict=True):
            found[fit] = made
            lab.say(f"{_place(scratch, fit).stem}: {len(made['rows'])} figures")
    drives = {}
    for name in names:
        first, *again = (found[name, seed, True] for seed in SEEDS)
        drives[name] = {**first, "again": again, "whole": found[name, SEEDS[0], False]["rows"]}
        DEVICES.mkdir(exist_ok=True)
        folder.write_text(DEVICES / f"{name}.toml", first["toml"])
    return {"drives": drives}


#: Drive, seed, and whether it is a fit on half of the rows.
_Fit = tuple[str, int, bool]


def _place(scratch: Path, fit: _Fit) -> Path:
    name, seed, is_half = fit
    return scratch / f"{name}-{seed}-{'half' if is_half else 'all'}.json"


def _kept(scratch: Path, measurements: Path, fit: _Fit) -> Mapping[str, Any]:
    """A fit. An interrupted study goes on behind the last that is done."""
    place, (name, seed, is_half) = _place(scratch, fit), fit
    if not place.is_file():
        measured = results.read_results(measurements, name)
        drive = fitting.fit_drive(fitting.every_other(measured) if is_half else measured, seed=seed)
        rows = comparing.compared(measured, fitting.predicted(drive, measured, seed=len(SEEDS) + seed), drive.seen)
        folder.write_text(place, json.dumps({
            "toml": f"{SOURCE}\n{_with_errors(drive, rows)}",
            "estimates": [asdict(one) for one in drive.estimates],
            "rows": [{**asdict(row), "error_percent": row.error_percent} for row in rows],
            "errors": [asdict(one) for one in comparing.errors(rows)],
        }))  # fmt: skip
    found: dict[str, Any] = json.loads(place.read_text(encoding="utf-8"))
    return found


def _with_errors(drive: FittedDrive, rows: list[comparing.FigureComparison]) -> str:
    lines = [
        f"# {'fitted' if one.is_fitted else 'predicted'}, {one.regime}: {one.figure}: {one.mean_percent:.1f} % mean, "
        f"{one.worst_percent:.1f} % worst of {one.points}"
        for one in comparing.errors(rows)
    ]
    return "\n".join([drive.toml.rstrip(), "", "# Errors of the twin, absolute:", *lines]) + "\n"


def pages(data: Data) -> Data:
    drives = data["drives"]
    errors = [[figure, rows, *(_both(drive, rows, figure) for drive in drives.values())] for rows, figure in _SUMMARY]
    return {
        "count": len(drives), "names": list(drives),
        "seeds": len(SEEDS), "intervals": _inside(drives.values()),
        "whole": grid(["fit on", *drives], [
            ["half of the rows", *(_mean_error(drive["rows"], drive["rows"]) for drive in drives.values())],
            ["all rows", *(_mean_error(drive["rows"], drive["whole"]) for drive in drives.values())],
        ]),
        "write_tails": {of: _tails(drives, key) for of, key in _TAILS.items()},
        "errors": grid(["figure", "rows", *drives], [row for row in errors if set(row[2:]) != {NOTHING}]),
        "far_writes": "; ".join(
            f"{name}, {row['experiment']}, {points(row['error_percent'], 0)}"
            for name, row in _rows(drives, CLOSED_LOOP) if row["unit"] == "1/s" and abs(row["error_percent"]) > _FAR
        ),
        "far_reads": "; ".join(
            f"{name} at {row['experiment'].removeprefix('open loop, ')}, {_pair(row)} us"
            for name, row in _rows(drives, BELOW_THE_KNEE)
            if row["figure"] == "read p99" and row["measured"] > 2 * row["predicted"]
        ),
        "estimates": _estimates(drives),
    }  # fmt: skip


#: Keys by which drives have long writes.
_TAILS = {
    "batches": "engine.collection_batch_us",
    "growing": "engine.hold_full_writes_per_s",
    "regular": "engine.hold_us",
}


def _tails(drives: Mapping[str, Data], key: str) -> str:
    """Errors of the longest writes of the drives whose fits set a key."""
    found = {
        name: _error(drive, BELOW_THE_KNEE, "write p99.9") for name, drive in drives.items()
        if any(one["key"] == key for one in drive["estimates"])
    }  # fmt: skip
    return ", ".join(f"{name} {points(error, 0)}" for name, error in found.items() if error is not None) or "none"


def _inside(drives: Iterable[Data]) -> str:
    """How many values of other seeds lie in the intervals of the first."""
    inside = total = 0
    for drive in drives:
        known = {one["key"]: one for one in drive["estimates"] if one["is_measured"] and one["low"] is not None}
        others = [one for fit in drive["again"] for one in fit["estimates"] if one["key"] in known]
        values = [(known[one["key"]], one["value"]) for one in others if isinstance(one["value"], int | float)]
        inside += sum(one["low"] <= value <= one["high"] for one, value in values)
        total += len(values)
    return f"{inside} of {total}"


def _mean_error(half: Sequence[Data], played: Sequence[Data]) -> str:
    """Mean absolute error below the knee, in the rows that the fit on half of them has seen."""
    seen = {(row["experiment"], row["figure"]) for row in half if row["is_fitted"] and row["regime"] == BELOW_THE_KNEE}
    return points(statistics.fmean(
        abs(row["error_percent"]) for row in played if (row["experiment"], row["figure"]) in seen
    ))  # fmt: skip


def _rows(drives: Mapping[str, Data], regime: str) -> list[tuple[str, Data]]:
    return [(name, row) for name, drive in drives.items() for row in drive["rows"] if row["regime"] == regime]


def _error(drive: Data, regime: str, figure: str, key: str = "mean_percent") -> float | None:
    """The mean or the worst absolute error of predicted rows, in percent; None if the drive has no such row."""
    wanted = (regime, figure, False)
    found = (one[key] for one in drive["errors"] if (one["regime"], one["figure"], one["is_fitted"]) == wanted)
    return next(found, None)


def _both(drive: Data, regime: str, figure: str) -> str:
    """Mean errors of all seeds, the least to the greatest, and the worst of any row."""
    fits = [drive, *drive["again"]]
    means, worst = (
        [error for fit in fits if (error := _error(fit, regime, figure, key)) is not None]
        for key in ("mean_percent", "worst_percent")
    )
    if not means:
        return NOTHING
    ends = dict.fromkeys((points(min(means)), points(max(means))))
    return f"{' to '.join(ends).replace(' %', '', len(ends) - 1)} ({points(max(worst), 0)})"


def _pair(row: Data) -> str:
    return f"{count(row['measured'])} / {count(row['predicted'])}"


def _estimates(drives: Mapping[str, Data]) -> list[str]:
    by_drive = [{one["key"]: one for one in drive["estimates"] if one["is_measured"]} for drive in drives.values()]
    keys = dict.fromkeys(key for estimates in by_drive for key in estimates)
    return grid(["figure", *drives], (
        [f"`{key}`", *(_value(estimates[key]) if key in estimates else NOTHING for estimates in by_drive)]
        for key in keys
    ))  # fmt: skip


def _value(estimate: Data) -> str:
    value, unit = estimate["value"], estimate["unit"]
    if isinstance(value, list):
        return f"{', '.join(f'{one:g}' for one in sorted(set(value)))} {unit}".rstrip()
    return f"{value:.4g} {unit}".rstrip() if isinstance(value, int | float) else str(value)


def drawings(data: Data) -> Mapping[Path, str]:
    return {ROOT / "docs" / "images" / f"{name}.svg": _picture(name, drive) for name, drive in data["drives"].items()}


def _picture(name: str, drive: Data) -> str:
    """Response times against the rate: the drive as dots, filled where it was fitted, and the twin as a line."""
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": name, "font.size": 9}):
        figure = Figure(figsize=(7.2, 3.4), layout="constrained")
        axes = figure.add_subplot()
        for wanted, colour in _SHOWN:
            rows = [row for row in drive["rows"] if row["figure"] == wanted and row["regime"] != CLOSED_LOOP]
            axes.plot(_rates(rows), [row["predicted"] for row in rows], color=colour, linewidth=1.2, label=wanted)
            for is_fitted, face in ((True, colour), (False, "white")):
                dots = [row for row in rows if row["is_fitted"] == is_fitted]
                measured = [row["measured"] for row in dots]
                axes.plot(_rates(dots), measured, "o", markersize=4, color=colour, markerfacecolor=face)
        axes.set(xlabel="thousand requests offered a second", ylabel="response time, us", yscale="log", title=name)
        axes.legend(frameon=False, ncols=len(_SHOWN), fontsize=8, loc="upper left")
        axes.grid(visible=True, which="major", linewidth=0.4, alpha=0.5)
        return svg(figure)


def _rates(rows: Sequence[Data]) -> list[float]:
    names = (row["experiment"].removeprefix("open loop, ").removesuffix("/s") for row in rows)
    return [float(name.replace(",", "")) / 1e3 for name in names]


STUDY = Study(
    "real-drives", "twins of drives that were measured", measure, pages, CODE, drawings,
    "measured drives, `--drives DIR`",
)  # fmt: skip
