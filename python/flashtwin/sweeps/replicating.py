"""Repeated experiments: paired differences between systems, over whatever varies, with intervals of 95 %."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from flashtwin.arguments import checked
from flashtwin.errors import ArgumentError
from flashtwin.progress import Progress
from flashtwin.recipes.workloads import Workload, workload
from flashtwin.replays.presets import System, Systems
from flashtwin.replays.running import Comparison, Result, compare, name_systems
from flashtwin.results import intervals
from flashtwin.results.figures import Figure, figure
from flashtwin.results.frames import Table, Tabular, table_of
from flashtwin.results.trees import dig
from flashtwin.settings import merged, seed_of
from flashtwin.traces.scan import Replayable, as_replayable

if TYPE_CHECKING:
    import pyarrow

Source = Literal["blocks", "synthesis", "ageing", "seed"]
FIGURES = ("all.mean", "read.mean", "read.p99", "write.mean", "write.p99")
#: Fewest replications: t with fewer degrees of freedom makes an interval that says nothing. Ours.
LEAST = 5


class Replication(Tabular):
    """Differences between systems and the first, one row a system and figure; `values` has each replication.

    >>> import flashtwin as ft
    >>> found = ft.replicate("rr-ssd/webvm", ["conventional", "ca-ssd"], 5, over="synthesis", scale=0.001)
    >>> found.rows[0]["figure"], found.rows[0]["high"] < 0
    ('all.mean', True)
    """

    def __init__(self, over: Source, runs: Sequence[Comparison], rows: Sequence[Mapping[str, Any]]) -> None:
        """Use `flashtwin.replicate`."""
        self.over = over
        #: The replications; a single one over blocks.
        self.runs = tuple(runs)
        self.rows = tuple(rows)

    def __repr__(self) -> str:
        return f"<flashtwin.Replication over {self.over}: {len(self.runs)} x {', '.join(self.runs[0])}>"

    def to_arrow(self) -> pyarrow.Table:
        """One row a system and figure: the difference with the ends of its interval, or in `note` why it has none."""
        return table_of(self.rows)

    @property
    def values(self) -> Table:
        """One row a replication, system and figure."""
        named = [figure(name) for name in dict.fromkeys(row["figure"] for row in self.rows)]
        return Table(
            table_of(
                [
                    {"replication": at, "system": name, "figure": one.name, "value": dig(run.summary, one.path)}
                    for at, runs in enumerate(self.runs)
                    for name, run in runs.items()
                    for one in named
                ]
            )
        )


@checked
def replicate(
    source: Replayable | Workload | str | Path,
    systems: Systems,
    n: int | None = None,
    *,
    over: Source = "blocks",
    figures: Sequence[str] = FIGURES,
    scale: float = 1.0,
    settings: Mapping[str, Any] | None = None,
    fill: float | None = None,
    threads: int = 0,
    progress: Progress | None = None,
    equal_ground: bool = False,
    **sets: Any,
) -> Replication:
    """Repeats a comparison over something that varies, and gives each paired difference with an interval of 95 %.

    Args:
        source: a trace, or its path; over `"synthesis"` a recipe: a name of `workloads()`, its path, or a `Workload`.
        systems: two or more, as in `compare`; differences are to the first.
        n: replications, 5 or more, 10 by default; none over `"blocks"`.
        over: `"blocks"`: parts of one trace, for another stretch of the same steady workload (docs/results.md).
            `"synthesis"`: traces of a recipe by seed. `"ageing"`: drives written over in another order before the
            trace (`replay.preload = "footprint"`). `"seed"`: every random choice of the systems.
        figures: as in `Sweep.best`; over blocks means, p50, p99 and p99.9 of response times.
        scale: of synthesized traces.
        settings: as in `compare`, also those below.
        fill: as in `compare`.
        threads: as in `compare`.
        progress: as in `compare`.
        equal_ground: as in `compare`.
        **sets: as in `compare`.

    Raises:
        ArgumentError: nothing depends on what it is to be repeated over; the message says why, and what does.

    >>> import flashtwin as ft
    >>> trace = ft.open("traces/webvm-small.fiu.zst")
    >>> found = ft.replicate(trace, ["conventional", "ca-ssd"], figures=["write.mean"], period_s=120)
    >>> row = found.rows[0]
    >>> row["low"] < row["difference"] < row["high"]
    True
    """
    chosen = name_systems(systems, merged(settings, sets), equal_ground=equal_ground)
    if len(chosen) < 2:
        raise ArgumentError("one system has no difference to another; name two or more, the first being the baseline")
    asked = [figure(name) for name in figures]
    how: dict[str, Any] = {"fill": fill, "threads": threads, "progress": progress}
    if over == "blocks":
        if n is not None:
            raise ArgumentError(
                f"n is {n}, but blocks are parts of one replay; leave n out, or repeat over another thing"
            )
        statistics = [_statistic(one) for one in asked]
        runs = [compare(as_replayable(_trace(source, over), progress), chosen, **how)]
        rows = [
            row for name in list(chosen)[1:]
            for row in _of_blocks(runs[0].baseline, runs[0][name], dict(zip(asked, statistics, strict=True)))
        ]  # fmt: skip
        return Replication(over, runs, rows)
    number = 10 if n is None else seed_of("n", n)
    if number < LEAST:
        raise ArgumentError(f"n is {number}: {LEAST} replications at least make an interval")
    runs = _repeated(source, chosen, number, over, scale, how)
    rows = [_of_replications(name, one, runs) for name in list(chosen)[1:] for one in asked]
    return Replication(over, runs, rows)


def _trace(source: Any, over: Source) -> Any:
    if isinstance(source, Workload):
        raise ArgumentError(f"over={over!r} takes a trace; make one: source.synthesize(), or repeat over 'synthesis'")
    return source


def _repeated(
    source: Any, systems: Mapping[str, System], number: int, over: Source, scale: float, how: Mapping[str, Any]
) -> list[Comparison]:
    if over == "ageing" and all(one.config["replay"]["preload"] != "footprint" for one in systems.values()):
        raise ArgumentError(
            "over='ageing': the drives are new, so nothing is written before the trace; set preload='footprint', or "
            "repeat over 'blocks'"
        )
    if over == "synthesis":
        recipe = (
            source if isinstance(source, Workload) else workload(source) if isinstance(source, str | Path) else None
        )
        if recipe is None:
            raise ArgumentError("over='synthesis' takes a recipe; ft.imitate(trace).workload is that of a trace")
        each = (compare(recipe.synthesize(scale=scale, seed=at), systems, **how) for at in range(number))
    else:
        trace = as_replayable(_trace(source, over))
        seeds = ({name: one.with_sets({"seed": at}) for name, one in systems.items()} for at in range(1, number + 1))
        each = (compare(trace, seeded, **how) for seeded in seeds)
    runs = []
    for replication in each:
        runs.append(replication)
        if len(runs) == 2 and all(_outcome(run) == _outcome(runs[1][name]) for name, run in runs[0].items()):
            raise ArgumentError(
                f"over={over!r}: two replications are equal to the digit, because these systems draw no random number "
                "on this trace; repeat over 'blocks', over 'synthesis' from a recipe, or on aged drives "
                "(preload='footprint')"
            )
    return runs


def _outcome(run: Result) -> tuple[Any, ...]:
    return tuple(run.summary[part] for part in ("completed_ns", "response", "flash_reads", "flash_writes"))


def _statistic(asked: Figure) -> tuple[intervals.Kind, intervals.Statistic]:
    known = re.fullmatch(r"response\.(read|write|flush|all)\.(mean|p50|p99|p99_9)_ns", asked.path)
    if known is None:
        raise ArgumentError(
            f"'{asked.name}' has no interval over blocks, only means, p50, p99 and p99.9 of response times have; "
            "repeat over 'synthesis' or 'ageing'"
        )
    return known[1], known[2]  # type: ignore[return-value]  # which the pattern lists


def _row(name: str, baseline: str, asked: Figure, n: int | None) -> dict[str, Any]:
    return {"system": name, "baseline": baseline, "figure": asked.name, "unit": asked.unit, "n": n}


def _of_blocks(
    baseline: Result, run: Result, asked: Mapping[Figure, tuple[intervals.Kind, intervals.Statistic]]
) -> Iterator[dict[str, Any]]:
    pair = intervals.Blocks.of(baseline.table), intervals.Blocks.of(run.table)
    preloads = ((one, one.summary["config"]["replay"]["preload"]) for one in (baseline, run))
    why = next(filter(None, (intervals.unsettled(preload, one.table) for one, preload in preloads)), "")
    for one, statistic in asked.items():
        # Exact figures; the ends are of the histograms.
        before, after = (dig(each.summary, one.path) for each in (baseline, run))
        row = _row(run.name, baseline.name, one, None) | _difference(before, after)
        found = intervals.compare(*pair, *statistic)
        if why or isinstance(found, intervals.Refusal):
            said = found.sentence if isinstance(found, intervals.Refusal) else f"no interval: {why}"
            yield row | {"low": None, "high": None, "ratio_low": None, "ratio_high": None, "note": said}
            continue
        note = None
        if found.drift_ns is not None:
            halves = " and ".join(f"{half:,.0f}" for half in found.drift_ns)
            note = f"too narrow: changes along the trace, or too short; differences in its halves: {halves} ns"
        yield row | {
            "low": found.low_ns, "high": found.high_ns, "ratio_low": found.ratio_low, "ratio_high": found.ratio_high,
            "note": note,
        }  # fmt: skip


def _difference(before: float | None, after: float | None) -> dict[str, Any]:
    difference = None if before is None or after is None else after - before
    ratio = None if not before or after is None else after / before
    return {"baseline_value": before, "value": after, "difference": difference, "ratio": ratio}


def _of_replications(name: str, asked: Figure, runs: Sequence[Comparison]) -> dict[str, Any]:
    """Means over the replications, with t intervals of the paired differences and of the logarithms of the ratios."""
    values = [[dig(run.summary, asked.path) for run in (each.baseline, each[name])] for each in runs]
    pairs = np.array([pair for pair in values if None not in pair], dtype=float).reshape(-1, 2)
    row = _row(name, runs[0].baseline.name, asked, len(pairs))
    if len(pairs) < LEAST:
        note = f"{len(pairs)} of {len(runs)} replications have the figure"
        return row | _difference(None, None) | {"low": None, "high": None, "note": note}
    before, after = pairs.T
    low, high = _t_interval(after - before)
    row |= _difference(float(before.mean()), float(after.mean())) | {"low": low, "high": high}
    if (pairs > 0).all():
        logs = _t_interval(np.log(after / before))
        row |= {"ratio_low": math.exp(logs[0]), "ratio_high": math.exp(logs[1])}
        row["ratio"] = math.exp(float(np.log(after / before).mean()))
    return row | {"note": None}


def _t_interval(differences: intervals.Floats) -> tuple[float, float]:
    half: float = t_quantile(len(differences) - 1) * float(differences.std(ddof=1)) / math.sqrt(len(differences))
    mean = float(differences.mean())
    return mean - half, mean + half


def t_quantile(freedom: int) -> float:
    """The 97.5 % quantile of Student's t, within 0.3 % from 4 degrees of freedom (Abramowitz and Stegun 26.7.5)."""
    z = 1.959963985
    terms = (
        z,
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
    )
    return math.fsum(term / freedom**at for at, term in enumerate(terms))
