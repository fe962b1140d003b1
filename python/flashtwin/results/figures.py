"""Figures of a run by short names: for the charts of a sweep, the goals of a search, and its limits.

`read.p99`, `wa`, `ram`, `iops`; every number of docs/results.md under its whole name as well. Pure.
"""

import difflib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from flashtwin import units
from flashtwin.errors import ArgumentError
from flashtwin.results import schema

#: Short names of fields, if any, and their labels; `read.p99` and `read.iops` stand for fields of `response` and
#: `throughput`.
_NAMED = (
    ("wa", "write_amplification", "write amplification"),
    ("programs", "pages_programmed", "pages programmed"),
    ("erases", "erases.total", "erases"),
    ("ram", "ram.total_bytes", "tables in RAM"),
    ("space", "space.pages_in_use_peak", "pages in use, peak"),
    ("life", "erases.life_used_percent", "life used"),
    ("", "response.read.mean_ns", "mean read"),
    ("", "response.write.mean_ns", "mean write"),
    ("", "response.flush.mean_ns", "mean flush"),
    ("", "response.all.mean_ns", "mean response"),
    ("iops", "throughput.all.iops", "IOPS"),
    ("", "throughput.read.iops", "read IOPS"),
    ("", "throughput.write.iops", "write IOPS"),
    ("", "throughput.flushes_per_s", "flushes a second"),
    ("mb_per_s", "throughput.all.mb_per_s", "MB/s"),
    ("", "throughput.read.mb_per_s", "MB/s read"),
    ("", "throughput.write.mb_per_s", "MB/s written"),
)
SHORT = {name: path for name, path, _ in _NAMED if name}
_LABELS = {path: label for _, path, label in _NAMED}
#: Units that a bound may be written with, by the unit of the figure.
_TIMES = {"ns": 1.0, "us": 1e3, "µs": 1e3, "ms": 1e6, "s": 1e9}
_SIZES = {
    "B": 1.0, "kB": 1e3, "KB": 1e3, "MB": 1e6, "GB": 1e9, "KiB": 1024.0, "MiB": 1024.0**2, "GiB": 1024.0**3,
}  # fmt: skip


@dataclass(frozen=True)
class Figure:
    """A number of a run: the name asked for, its field in the summary, its name on a chart."""

    name: str
    path: str
    label: str

    @property
    def unit(self) -> str:
        """`"ns"`, `"bytes"`, `"percent"`, or nothing for counts and ratios."""
        return next((unit for unit in ("ns", "bytes", "percent") if self.path.endswith(f"_{unit}")), "")

    @property
    def more_is_better(self) -> bool:
        """Whether it is a rate at which the host is served; of all else less is better."""
        return self.path.startswith("throughput.") and self.path.endswith(("iops", "_per_s"))

    def cost(self, value: float) -> float:
        """The value, turned round where more is better: of costs the smallest is the best."""
        return -value if self.more_is_better else value

    def written(self, value: float | None) -> str:
        if self.unit:
            return {"ns": units.duration, "bytes": units.size, "percent": units.percent}[self.unit](value)
        if self.more_is_better:
            return units.rate(value)
        return units.ratio(value) if self.path == "write_amplification" else units.count(value)


#: How long a drive takes for the whole trace: the goal of a closed loop.
TIME = Figure("time", "completed_ns", "time for the whole trace")


@dataclass(frozen=True)
class Bound:
    figure: Figure
    sign: str
    limit: float
    text: str

    def excess(self, value: float) -> float:
        """How far beyond the limit a value is, as a share of the limit; 0 or less where it is kept."""
        beyond = value - self.limit if self.sign == "<=" else self.limit - value
        return beyond / abs(self.limit) if self.limit else beyond


def figure(name: str) -> Figure:
    """The figure of a short or a whole name.

    >>> figure("read.p99").path
    'response.read.p99_ns'
    >>> figure("write.p99.9").path
    'response.write.p99_9_ns'
    """
    name = spelled(name)
    for path in (SHORT.get(name, name), f"response.{name}_ns", f"throughput.{name}"):
        if path in schema.SUMMARY:
            return Figure(name, path, _LABELS.get(path) or _label(path))
    known = [*SHORT, *(short(path) for path in sorted(schema.SUMMARY))]
    near = difflib.get_close_matches(name, known, n=1)
    hint = f"did you mean '{near[0]}'?" if near else "they are listed in docs/results.md"
    raise ArgumentError(f"no figure of a run is called '{name}'; {hint}")


def spelled(name: str) -> str:
    """A figure's name as fields have it, from how tables print it: `write.p99_9` of `write.p99.9`."""
    return re.sub(r"\bp(\d+)\.(\d+)", r"p\1_\2", name)


def short(path: str) -> str:
    for name, field in SHORT.items():
        if field == path:
            return name
    of_response = re.fullmatch(r"response\.(\w+\.\w+)_ns", path)
    return of_response[1] if of_response else path.removeprefix("throughput.")


def _label(path: str) -> str:
    percentile = re.fullmatch(r"response\.(read|write|flush|all)\.p(\d+(?:_\d+)?)_ns", path)
    if percentile:
        what = {"read": "of reads", "write": "of writes", "flush": "of flushes", "all": "of all"}[percentile[1]]
        return f"p{percentile[2].replace('_', '.')} {what}"
    return re.sub(r"_(ns|bytes|percent)$", "", path).replace("_", " ").replace(".", " ")


def figures(text: str) -> list[Figure]:
    names = [name.strip() for name in text.split(",") if name.strip()]
    if not names:
        raise ArgumentError("no figure is named; write it like read.p99, or wa,ram for two")
    return [figure(name) for name in names]


def bounds(text: str) -> list[Bound]:
    """Bounds between commas: `wa<=1.2,ram<=64MB,read.p99<=2ms`.

    >>> [bound.limit for bound in bounds("wa<=1.2,ram<=64MB")]
    [1.2, 64000000.0]
    """
    return [_bound(part.strip()) for part in text.split(",") if part.strip()]


def _bound(text: str) -> Bound:
    parts = re.fullmatch(r"([\w.]+)\s*(<=|>=)\s*([0-9.eE+-]+?)\s*([A-Za-zµ%]*)", text)
    if parts is None:
        raise ArgumentError(f"'{text}' is no bound; write it like wa<=1.2, ram<=64MB or read.p99<=2ms")
    found = figure(parts[1])
    units = {"ns": _TIMES, "bytes": _SIZES, "percent": {"%": 1.0}}.get(found.unit, {})
    if parts[4] and parts[4] not in units:
        takes = f"takes {', '.join(units)}" if units else "has no unit"
        raise ArgumentError(f"'{text}': '{parts[1]}' {takes}, not '{parts[4]}'")
    try:
        limit = float(parts[3]) * units.get(parts[4], 1.0)
    except ValueError:
        raise ArgumentError(f"'{text}': '{parts[3]}' is no number; write it like wa<=1.2") from None
    return Bound(found, parts[2], limit, text)


def costs(rows: Sequence[Mapping[str, Any]], wanted: Sequence[Figure]) -> list[list[float]]:
    """The figures of each row, turned round where more is better, for `front`."""
    return [[one.cost(row[one.path]) for one in wanted] for row in rows]


def front(values: Sequence[Sequence[float]]) -> list[int]:
    """Places of the entries that no other one beats: none is as small in everything and smaller in something.

    Values of which more is better come as their `Figure.cost`.

    >>> front([(1.0, 3.0), (2.0, 2.0), (3.0, 3.0)])
    [0, 1]
    """
    order = sorted(range(len(values)), key=lambda place: tuple(values[place]))
    kept: list[int] = []
    for place in order:
        mine = values[place]
        beaten = any(
            all(a <= b for a, b in zip(values[other], mine, strict=True)) and tuple(values[other]) != tuple(mine)
            for other in kept
        )
        if not beaten:
            kept.append(place)
    return sorted(kept)


def keeps(row: Mapping[str, Any], limits: Sequence[Bound]) -> bool:
    """Whether a row keeps all bounds; one that lacks a figure does not."""
    values = [(limit, row.get(limit.figure.path)) for limit in limits]
    return all(value is not None and limit.excess(value) <= 0 for limit, value in values)
