"""Synthetic workloads: recipes, traces made from them, and checks of their targets."""

import tomllib
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from flashtwin import _core
from flashtwin.arguments import checked
from flashtwin.characterization import statistics
from flashtwin.characterization.measuring import Characterization, characterize
from flashtwin.errors import TraceError
from flashtwin.progress import Progress, named
from flashtwin.results.documents import json_object
from flashtwin.traces.trace import Trace

Bound = Literal["equal", "at-most", "at-least"]

#: How far a statistic may be from its target, in percent of it, where the target says nothing else.
WITHIN_PERCENT = 5.0

#: Requests that a check makes unless a scale is asked for: enough for every statistic, done in seconds.
CHECK_REQUESTS = 400_000


@dataclass(frozen=True)
class Target:
    #: Which one: a key of `flashtwin.characterization.statistics.METRICS`.
    metric: str
    #: The published value, at scale 1.
    value: float
    source: str
    #: Whether it must be met, or not be exceeded, or not be fallen short of.
    bound: Bound = "equal"
    #: The other published number that it contradicts; None where there is none.
    conflict: str | None = None
    #: How far it may be off, in percent of the value: the uncertainty of the source, for example 10.
    within_percent: float = WITHIN_PERCENT


@dataclass(frozen=True)
class Achieved:
    target: Target
    wanted: float
    #: The measured value; None where it is undefined, for example without reads.
    found: float | None

    @property
    def error(self) -> float | None:
        """How far the trace is from the target, as a share of it; None where that is undefined."""
        if self.found is None or self.wanted == 0:
            return None
        return self.found / self.wanted - 1

    @property
    def verdict(self) -> Literal["met", "missed", "conflict", "undefined"]:
        """Whether the target is met; `"conflict"` where it is not and cannot be."""
        if self.found is None:
            return "undefined"
        error = self.error
        if error is None:
            met = self.found == self.wanted
        else:
            limit = self.target.within_percent / 100
            off = {"equal": abs(error), "at-most": error, "at-least": -error}[self.target.bound]
            met = off <= limit
        return "met" if met else "conflict" if self.target.conflict else "missed"


@checked
@dataclass(frozen=True)
class Workload:
    """A workload described by a recipe. Made by `workload`.

    >>> import flashtwin as ft
    >>> workload = ft.workload("rr-ssd/webvm")
    >>> workload.recipe["requests"]["write_percent"], len(workload.synthesize(scale=0.001))
    (77.0, 3800)
    """

    #: Its name among `workloads()`, or the path of its file.
    name: str
    toml: str = field(repr=False)

    @cached_property
    def recipe(self) -> dict[str, Any]:
        """The recipe, nested as in TOML.

        Raises:
            TraceError: the text is not TOML.
        """
        try:
            return tomllib.loads(self.toml)
        except tomllib.TOMLDecodeError as error:
            raise TraceError(f"{self.name}: {error}") from error

    @property
    def description(self) -> str:
        """The workload, the source of its numbers, and the assumptions."""
        return " ".join(str(self.recipe.get("description", "")).split())

    @property
    def targets(self) -> list[Target]:
        """Published statistics of it."""
        return [Target(**target) for target in self.recipe.get("targets", [])]

    def period_s(self, scale: float = 1.0) -> float:
        """Length of the workload's day in seconds at a scale: set `replay.period_s` to it."""
        return float(self.recipe.get("arrivals", {}).get("day_s", 86_400.0)) * scale

    def check_scale(self) -> float:
        """The scale at which `check` makes a trace unless another is asked for."""
        return min(1.0, CHECK_REQUESTS / int(self.recipe["requests"]["count"]))

    def synthesize(
        self, *, scale: float = 1.0, seed: int = 0, days: int | None = None, progress: Progress | None = None
    ) -> Trace:
        """Makes a trace; see `flashtwin.synthesize`."""
        return Trace(_core.synthesize(self.toml, self.name, scale, seed, days, named(progress, "making")))

    def write(
        self,
        path: str | Path,
        *,
        scale: float = 1.0,
        seed: int = 0,
        days: int | None = None,
        progress: Progress | None = None,
    ) -> int:
        """Makes a trace as a canonical Parquet file, without holding it in memory; its number of requests."""
        return _core.synthesize_parquet(self.toml, self.name, scale, seed, path, True, days, named(progress, "making"))

    def measured(self, *, scale: float | None = None, seed: int = 0) -> Characterization:
        """Makes a trace and characterizes it, day by day.

        Args:
            scale: of the trace; by default one that is done in seconds.
            seed: of the trace.
        """
        scale = self.check_scale() if scale is None else scale
        trace = self.synthesize(scale=scale, seed=seed)
        return characterize(trace, period_s=self.period_s(scale))

    def check(self, *, scale: float | None = None, seed: int = 0) -> list[Achieved]:
        """Makes a trace, characterizes it and puts its statistics beside the targets.

        Args:
            scale: of the trace; by default one that is done in seconds.
            seed: of the trace.

        >>> import flashtwin as ft
        >>> [achieved.verdict for achieved in ft.workload("ca-ssd/cello99").check(scale=0.1)]
        ['met', 'met', 'met']
        """
        scale = self.check_scale() if scale is None else scale
        return compared(self.targets, self.measured(scale=scale, seed=seed), scale)


def compared(targets: list[Target], found: Any, scale: float) -> list[Achieved]:
    achieved = []
    for target in targets:
        metric = statistics.METRICS.get(target.metric)
        if metric is None:
            known = ", ".join(statistics.METRICS)
            raise TraceError(f"no statistic is called '{target.metric}'; there are: {known}")
        wanted = target.value * scale if metric.scales else target.value
        achieved.append(Achieved(target, wanted, metric.measure(found, scale)))
    return achieved


def workloads() -> list[str]:
    """Names of the recipes that come with flashtwin.

    >>> import flashtwin as ft
    >>> "rr-ssd/webvm" in ft.workloads()
    True
    """
    return _core.workloads()


def recipe_schema() -> dict[str, Any]:
    """The JSON schema of recipes; descriptions give each key's meaning and unit.

    >>> import flashtwin as ft
    >>> "writes" in ft.recipe_schema()["properties"]
    True
    """
    return json_object(_core.recipe_schema())


@checked
def workload(name: str | Path) -> Workload:
    """A workload, by its name among `workloads()` or the path of a recipe, which ends in `.toml`.

    Raises:
        ConfigError: no workload has this name.
        TraceError: the file cannot be read, or is no recipe.

    >>> import flashtwin as ft
    >>> ft.workload("rr-ssd/webvm").recipe["requests"]["write_percent"]
    77.0
    """
    label = str(name)
    if not label.endswith(".toml"):
        return Workload(label, _core.workload_toml(label))
    try:
        toml = Path(name).read_text(encoding="utf-8")
    except OSError as error:
        raise TraceError(f"{label}: {error.strerror}; name a recipe or one of `flashtwin workloads`") from error
    except UnicodeDecodeError as error:
        raise TraceError(f"{label}: not text in UTF-8 ({error.reason} at byte {error.start})") from error
    _core.check_recipe(toml, label)
    return Workload(label, toml)


@checked
def synthesize(
    recipe: str | Path, scale: float = 1.0, seed: int = 0, *, days: int | None = None, progress: Progress | None = None
) -> Trace:
    """Makes a trace of a described kind, with contents.

    Args:
        recipe: a name among `workloads()`, or the path of a recipe (docs/workloads.md).
        scale: multiplies requests, footprint, values and the length of the days; the rate stays.
        seed: another one makes another trace of the same kind. Same recipe, scale and seed: same trace.
        days: fewer days than the recipe's are the first of them; more go on after them, as they were.
        progress: told `"making"`, requests made and requests in all (`flashtwin.progress`).

    Raises:
        TraceError: the recipe is not one, or its numbers contradict each other; the message names the key
            and what is possible.

    >>> import flashtwin as ft
    >>> len(ft.synthesize("rr-ssd/webvm", scale=0.001))
    3800
    """
    return workload(recipe).synthesize(scale=scale, seed=seed, days=days, progress=progress)
