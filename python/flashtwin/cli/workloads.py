"""`flashtwin workloads`: lists the recipes, prints one, or checks it against its published statistics."""

from collections import Counter
from typing import Annotated, Any

import click

from flashtwin.characterization import statistics
from flashtwin.characterization.measuring import Characterization
from flashtwin.cli._bridge import verb
from flashtwin.cli._comparing import as_row, comparison, number
from flashtwin.cli._options import Json, Seed
from flashtwin.cli._talk import data, data_json, pairs, say, table
from flashtwin.recipes.workloads import Achieved, compared, workload
from flashtwin.recipes.workloads import workloads as names


@verb()
def workloads(
    name: str | None = None,
    *,
    check: bool = False,
    scale: Annotated[float, click.FloatRange(min=0, min_open=True)] | None = None,
    seed: Seed = 0,
    json: Json = False,
) -> int:
    """List the recipes; with NAME (or a TOML file), print it; with --check, test it, or all of them.

    A check makes a trace, characterizes it, and compares each published statistic with the measured one, with its
    source. For one recipe you also see arrivals and re-reads. Exit status 1 if a target is missed by more than 5 % (or
    its source's tolerance) and no contradiction between published numbers explains it.

    \b
    Example:
      flashtwin workloads
      flashtwin workloads ca-ssd/cello99 > mine.toml
      flashtwin workloads ca-ssd/cello99 --check --scale 0.1
      flashtwin workloads --check

    Args:
        check: Make a trace, measure it, and compare with the published statistics.
        scale (X): Size of the trace for --check. Example: --scale 0.1 [default: one that takes seconds]
    """
    if name is None:
        if check:
            return _check_all(scale, seed, as_json=json)
        listed = {one: workload(one).description.split(". ", maxsplit=1)[0] for one in names()}
        data_json(listed) if json else data(pairs(list(listed.items())))
        return 0
    chosen = workload(name)
    if not check:
        data_json(chosen.recipe) if json else data(chosen.toml.rstrip())
        return 0
    used = chosen.check_scale() if scale is None else scale
    found = chosen.measured(scale=used, seed=seed)
    achieved = compared(chosen.targets, found, used)
    if json:
        rows = [as_row(one) for one in achieved]
        data_json({"targets": rows, "measured": _measured(found, used), "days": statistics.by_day(found)})
    else:
        say(f"{chosen.name} at scale {used:.4g}, seed {seed}")
        _show(achieved)
        _show_measured(found, used)
    return _status(achieved)


def _check_all(scale: float | None, seed: int, *, as_json: bool) -> int:
    rows: dict[str, Any] = {}
    achieved: list[Achieved] = []
    for name in names():
        chosen = workload(name)
        used = chosen.check_scale() if scale is None else scale
        found = compared(chosen.targets, chosen.measured(scale=used, seed=seed), used)
        rows[name] = [as_row(one) for one in found]
        achieved += found
        if not as_json:
            data(f"{name} at scale {used:.4g}")
            _show(found)
            data("")
    if as_json:
        data_json(rows)
    else:
        counts = Counter(one.verdict for one in achieved)
        data(f"{len(achieved)} targets: " + ", ".join(f"{count} {verdict}" for verdict, count in counts.items()))
    return _status(achieved)


def _status(achieved: list[Achieved]) -> int:
    return int(any(one.verdict in ("missed", "undefined") for one in achieved))


def _show(achieved: list[Achieved]) -> None:
    if not achieved:
        data("no targets: nothing was published")
        return
    data(comparison(achieved))
    for one in achieved:
        if one.target.conflict:
            data(f"{one.target.metric}: conflict: {one.target.conflict}")


def _measured(found: Characterization, scale: float) -> dict[str, float | None]:
    return {name: statistics.METRICS[name].measure(found, scale) for name in statistics.SHOWN}


def _show_measured(found: Characterization, scale: float) -> None:
    measured = {name: value for name, value in _measured(found, scale).items() if value is not None}
    data("\n" + pairs([(name, number(value)) for name, value in measured.items()]))
    days = statistics.by_day(found)
    if len(days) <= 1:
        return
    header = ("reads of day", "distinct %", "new %", "read the day before %")
    rows = [
        (str(day), *("-" if value is None else number(value) for value in shares.values()))
        for day, shares in enumerate(days, start=1)
    ]
    data("\n" + table(header, rows))
