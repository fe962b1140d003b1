"""The four papers: on recipes at their default scale, and on the recorded traces under the papers' names."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import flashtwin as ft
from evidence import sources
from evidence.stage import CAPTURED as TRACES
from evidence.stage import Lab, Stage
from evidence.stages.drives import PERIOD_S
from flashtwin import papers
from flashtwin.papers import running
from flashtwin.papers.running import ReproductionOptions
from flashtwin.results import names

CODE = (*sources.REPLAY, *sources.DRIVES, *sources.PAPERS, "workloads", "crates/analysis/src")
#: The recorded traces under the names of each paper's workloads; RR-SSD's are the same.
NAMES: Mapping[str, Mapping[str, str]] = {
    "rr-ssd": {name: name for name in ("webvm", "homes", "mail", "trans")},
    "ca-ssd": {"web": "webvm", "homes": "homes", "mail": "mail"},
    "ds-ftl": {"home1": "homes", "webmail": "mail", "webusers": "webvm", "online": "trans"},
    "swc": {},
}
#: A workload of each paper that is quickly made again; SWC has none of its own.
ONE_OF = {"rr-ssd": "trans", "ca-ssd": "homes", "ds-ftl": "online", "swc": ""}


def kept(done: running.Reproduction) -> dict[str, Any]:
    """The content of the file of results, without charts."""
    found: dict[str, Any] = json.loads((done.path / names.REPRODUCTION).read_text(encoding="utf-8"))
    for paper in found["papers"]:
        for item in paper["items"]:
            item.pop("chart", None)
    return {"papers": found["papers"], "sensitivity": found["sensitivity"]}


def measure_recipes(lab: Lab) -> Mapping[str, Any]:
    """All papers on recipes."""
    return kept(running.run(papers.choose(None, ()), lab.scratch("recipes"), ReproductionOptions(), notify=lab.say))


def measure_captured(paper: str) -> Callable[[Lab], Mapping[str, Any]]:
    """One paper on the recorded traces."""

    def measure(lab: Lab) -> Mapping[str, Any]:
        traces = linked(lab, paper)
        how = ReproductionOptions(traces=traces, period_s=PERIOD_S, workloads=tuple(NAMES[paper]))
        return kept(running.run(papers.choose(paper, ()), lab.scratch(f"captured-{paper}"), how, notify=lab.say))

    return measure


def again(lab: Lab, paper: str | None) -> list[dict[str, Any]]:
    """The claims about one workload, measured anew: of a paper on a recorded trace, or of every paper on recipes."""
    found = []
    for one in [paper] if paper else ONE_OF:
        name = ONE_OF[one]
        if paper and name not in NAMES[paper]:
            name = next(iter(NAMES[paper]), "")
        how = ReproductionOptions(workloads=(name,)) if name else ReproductionOptions()
        if paper:
            how = replace(how, traces=linked(lab, paper), period_s=PERIOD_S)
        place = lab.scratch(f"again-{sources.digest(CODE)}-{'captured' if paper else 'recipes'}-{one}")
        done = kept(running.run(papers.choose(one, ()), place, how, notify=lab.say))
        claims = (claim for item in done["papers"][0]["items"] for claim in item["claims"])
        found += [claim for claim in claims if not name or claim["subject"] == name]
    return found


def linked(lab: Lab, paper: str) -> Path:
    """A folder with the recorded traces under the paper's names; the folder itself where it takes any name."""
    for name in TRACES:
        lab.keep(ft.open(lab.captured / f"{name}.fiu.zst"))
    if not NAMES[paper]:
        return lab.captured
    place = lab.scratch(f"traces-{paper}")
    for name, trace in NAMES[paper].items():
        link = place / f"{name}.fiu.zst"
        link.unlink(missing_ok=True)
        link.symlink_to((lab.captured / f"{trace}.fiu.zst").resolve())
    return place


RECIPES = Stage(
    "reproduction", "the papers on recipes, at their default scale", measure_recipes, CODE, partial(again, paper=None)
)
CAPTURED = tuple(
    Stage(
        f"captured-{paper}", f"the {paper} paper on the recorded traces", measure_captured(paper), CODE,
        partial(again, paper=paper),
    )
    for paper in NAMES
)  # fmt: skip
