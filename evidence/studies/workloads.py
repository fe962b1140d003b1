"""How far recipes meet their targets, and how far a recipe that imitates a recorded trace does."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import flashtwin as ft
from evidence import code
from evidence.forms import NOTHING, grid, signed
from evidence.studies.drives import PERIOD_S
from evidence.study import Data, Lab, Study
from flashtwin.recipes.imitation import imitate
from flashtwin.recipes.workloads import Achieved

CODE = (
    *code.RECIPES, *code.ANALYSIS, "python/flashtwin/recipes/workloads.py", "python/flashtwin/recipes/imitation.py",
    "python/flashtwin/characterization/statistics.py", "python/flashtwin/recipes/trains.py",
)  # fmt: skip
#: In the order of the page.
IMITATED = ("mail", "webvm", "homes", "trans")
#: Statistics that count something. All others are shares or sizes.
COUNTS = ("requests", "footprint_pages", "write_entries_for_90_percent", "read_entries_for_90_percent")
#: Statistics of imitations whose errors the page explains.
EXPLAINED = (
    "requests", "write_percent", "unique_write_percent", "values_for_half_of_writes_percent", "within_1_ms_percent",
    "train_p90_requests", "requests_in_long_trains_percent", "index_of_dispersion", "index_of_dispersion_10_ms",
    "joined_trains_percent", "write_entries_for_90_percent", "same_content_write_percent", "mean_request_kib",
    "sequential_percent", "unique_read_percent", "footprint_pages",
)  # fmt: skip

Targets = Sequence[Mapping[str, Any]]


def measure(lab: Lab) -> Data:
    recipes = {}
    for name in ft.workloads():
        lab.say(name)
        workload = ft.workload(name)
        recipes[name] = {"scale": workload.check_scale(), "targets": _beside(workload.check())}
    fits = {}
    for name in IMITATED:
        lab.say(f"{name}: a recipe that imitates it")
        fits[name] = _beside(imitate(lab.trace(name), period_s=PERIOD_S).achieved)
    return {"recipes": recipes, "fits": fits}


def _beside(achieved: Iterable[Achieved]) -> list[dict[str, Any]]:
    return [
        {
            "metric": one.target.metric, "wanted": one.wanted, "found": one.found, "error": one.error,
            "bound": one.target.bound, "within_percent": one.target.within_percent, "verdict": one.verdict,
            "conflict": one.target.conflict,
        }
        for one in achieved
    ]  # fmt: skip


def pages(data: Data) -> Data:
    targets = [(name, target) for name, one in data["recipes"].items() for target in one["targets"]]
    verdicts = [target["verdict"] for _, target in targets]
    fits = data["fits"]
    return {
        "recipes": len(data["recipes"]), "targets": len(targets),
        **{verdict: verdicts.count(verdict) for verdict in ("met", "missed", "undefined")},
        "conflicts": [
            {"recipe": name, **{key: target[key] for key in ("metric", "wanted", "found", "conflict")}}
            for name, target in targets if target["verdict"] == "conflict"
        ],
        "checks": checks(data["recipes"]), "imitations": imitations(fits),
        "errors": {
            metric: {name: target["error"] or 0.0 for name, of in fits.items() for target in of
                     if target["metric"] == metric}
            for metric in EXPLAINED
        },
    }  # fmt: skip


def checks(recipes: Mapping[str, Mapping[str, Any]]) -> list[str]:
    rows = []
    for name, one in recipes.items():
        met = [target for target in one["targets"] if target["verdict"] == "met"]
        exact = [target for target in met if target["bound"] == "equal"]
        last = max(exact, key=lambda target: abs(target["error"] or 0.0), default=None)
        worst = NOTHING if last is None else f"`{last['metric']}` {signed(last['error'] or 0.0)}"
        rows.append([f"`{name}`", f"{one['scale']:.3g}", len(one["targets"]), len(met), worst])
    return grid(["recipe", "scale", "targets", "met", "furthest off of these"], rows)


def imitations(fits: Mapping[str, Targets]) -> list[str]:
    metrics = dict.fromkeys(target["metric"] for targets in fits.values() for target in targets)
    head, _, *lines = grid(["statistic", *fits], (
        [f"`{metric}`", *(_cell(fits[trace], metric) for trace in fits)] for metric in metrics
    ))  # fmt: skip
    return [head, "| --- " + "| ---: " * len(fits) + "|", *lines]


def _cell(targets: Targets, metric: str) -> str:
    target = next((target for target in targets if target["metric"] == metric), None)
    if target is None:
        return NOTHING
    digits = 0 if metric in COUNTS or target["wanted"] >= 1000 else 2
    wanted, found = (f"{target[key]:,.{digits}f}" for key in ("wanted", "found"))
    return f"{wanted} → {found} ({signed(target['error'] or 0.0, 2)})"


STUDY = Study("workloads", "how far recipes meet their targets and imitate recorded traces", measure, pages, CODE)
