"""How far recipes meet their targets, and how far a recipe that is fitted to a recorded trace imitates it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import flashtwin as ft
from evidence import sources
from evidence.stage import Lab, Stage
from evidence.stages.drives import PERIOD_S
from flashtwin.recipes.imitation import imitate
from flashtwin.recipes.workloads import Achieved

CODE = (
    *sources.RECIPES, *sources.ANALYSIS, "python/flashtwin/recipes/workloads.py",
    "python/flashtwin/recipes/imitation.py",
    "python/flashtwin/characterization/statistics.py", "python/flashtwin/recipes/trains.py",
)  # fmt: skip
#: In the order of the page.
FITTED = ("mail", "webvm", "homes", "trans")


def measure(lab: Lab) -> Mapping[str, Any]:
    """Every recipe at the scale of a check, every recorded trace beside its imitation."""
    recipes = {}
    for name in ft.workloads():
        lab.say(name)
        workload = ft.workload(name)
        recipes[name] = {"scale": workload.check_scale(), "targets": beside(workload.check())}
    fits = {}
    for name in FITTED:
        lab.say(f"{name}: a recipe that imitates it")
        fits[name] = beside(imitate(lab.trace(name), period_s=PERIOD_S).achieved)
    return {"recipes": recipes, "fits": fits}


def beside(achieved: Iterable[Achieved]) -> list[dict[str, Any]]:
    """Targets beside measured values."""
    return [
        {
            "metric": one.target.metric, "wanted": one.wanted, "found": one.found, "error": one.error,
            "bound": one.target.bound, "within_percent": one.target.within_percent, "verdict": one.verdict,
            "conflict": one.target.conflict,
        }
        for one in achieved
    ]  # fmt: skip


STAGE = Stage("workloads", "how far recipes meet their targets, and imitate recorded traces", measure, CODE)
