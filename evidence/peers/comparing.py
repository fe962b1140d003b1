"""Runs every scenario in flashtwin and in the peers, and compares them figure by figure.

    MQSIM_DIR=/path/to/MQSim SSDSIM_DIR=/path/to/ssdsim python -m evidence peers

The peers are public: github.com/CMU-SAFARI/MQSim and github.com/huaicheng/ssdsim, at the commits that the record names.
"""

from __future__ import annotations

import fnmatch
import tempfile
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from evidence import code
from evidence.code import ROOT
from evidence.forms import NOTHING, grid, percent
from evidence.study import Data, Lab, MissingInputError, Study

from . import mqsim, ours, scenarios, ssdsim, workloads
from .measure import Outcome, PeerError, commit
from .scenarios import Scenario

OURS, PEERS = ours.NAME, {mqsim.NAME: mqsim, ssdsim.NAME: ssdsim}
#: A larger difference needs a rule of `differences.toml` that explains it.
TOLERANCE = 0.05
#: The same of aged drives: times, and counts.
AGED_TOLERANCE, COUNT_TOLERANCE = 0.03, 0.005
AGED = "aged-"
#: Groups of the table, by the beginning of the scenarios' names.
GROUPS: Mapping[str, str | tuple[str, ...]] = {
    "one page, light load": "light-", "one page, load 0.3": "medium-", "one page, load 0.7": "heavy-",
    "in order": "sequential-", "on 128 pages": "few-", "public samples": ("wsrch", "tpcc", "example", "hm_0"),
    "collection": "gc-", "aged drives under load": AGED,
}  # fmt: skip
COUNTS = ("pages_programmed", "blocks_erased")


def measure(lab: Lab) -> Data:
    """Every scenario: everybody by its own rules, and flashtwin by those of each peer."""
    for name, peer in PEERS.items():
        if peer.program() is None:
            raise MissingInputError(
                f"{name} is not here; set {peer.VARIABLE} to the folder of a built {peer.REPOSITORY}"
            )
    found = []
    for scenario in scenarios.everything():
        lab.say(scenario.name)
        requests = scenario.build()
        runs: dict[str, Any] = {OURS: asdict(_run(ours.simulate, scenario, {}))}
        for name, peer in PEERS.items():
            options = {mqsim.NAME: scenario.mqsim, ssdsim.NAME: scenario.ssdsim}[name]
            try:
                runs[name] = asdict(_run(peer.simulate, scenario, options))
            except PeerError as error:
                runs[name] = {"failed": str(error)}
            runs[f"{OURS} as {name}"] = asdict(_run(ours.simulate, scenario, scenarios.RULES[name]))
        found.append({
            "name": scenario.name, "title": scenario.title, "light": scenario.light,
            "requests": workloads.counts(requests[scenario.first :]), "runs": runs,
        })  # fmt: skip
    return {
        "commits": {OURS: commit(ROOT), **{name: commit(_folder(peer)) for name, peer in PEERS.items()}},
        "rules": {name: ours.command(rules) for name, rules in scenarios.RULES.items()},
        "scenarios": found,
    }


def _run(simulate: Any, scenario: Scenario, settings: Mapping[str, Any]) -> Outcome:
    with tempfile.TemporaryDirectory() as folder:
        outcome: Outcome = simulate(scenario.device, scenario.build(), settings, Path(folder), scenario.first)
    return outcome


def _folder(peer: Any) -> Path:
    return Path(peer.program()).parent


@dataclass(frozen=True)
class Cell:
    """A figure of a peer beside flashtwin's by the peer's rules."""

    peer: str
    scenario: str
    figure: str
    theirs: float | None
    ours: float | None

    @property
    def off(self) -> float | None:
        """The difference as a share of theirs."""
        return None if not self.theirs or self.ours is None else self.ours / self.theirs - 1

    @property
    def agrees(self) -> bool:
        """Whether the two are so close that the difference needs no reason."""
        tolerance = TOLERANCE
        if self.scenario.startswith(AGED):
            tolerance = COUNT_TOLERANCE if self.figure in COUNTS else AGED_TOLERANCE
        return self.off is None or abs(self.off) <= tolerance

    def letters(self) -> list[str]:
        """The rules that explain a difference beyond the tolerance."""
        if self.agrees:
            return []
        place = f"{self.peer} {self.scenario} {self.figure}"
        return [each["letter"] for each in differences() if any(fnmatch.fnmatch(place, rows) for rows in each["rows"])]


def differences() -> list[dict[str, Any]]:
    """The rules of differences.toml."""
    text = (Path(__file__).parent / "differences.toml").read_text(encoding="utf-8")
    found: list[dict[str, Any]] = tomllib.loads(text)["difference"]
    return found


def cells(data: Data) -> Iterator[Cell]:
    """Every comparison of a peer with flashtwin by its rules."""
    for scenario in data["scenarios"]:
        runs = scenario["runs"]
        for peer in PEERS:
            if "failed" in runs.get(peer, {"failed": ""}):
                continue
            theirs, us = runs[peer], runs[f"{OURS} as {peer}"]
            for kind in _kinds(scenario):
                for figure in ("mean_us", "p99_us"):
                    yield Cell(peer, scenario["name"], f"{kind}.{figure}", theirs[kind][figure], us[kind][figure])
            if runs[OURS]["blocks_erased"]:
                # MQSim loses requests while it collects, so pages programmed compare on aged drives alone.
                for figure in COUNTS if scenario["name"].startswith(AGED) else ("blocks_erased",):
                    yield Cell(peer, scenario["name"], figure, theirs[figure], us[figure])


def _kinds(scenario: Data) -> list[str]:
    """Kinds of request that are numerous enough to have a mean."""
    return [kind for kind, count in scenario["requests"].items() if count >= 100]


def own_rules(data: Data, peer: str) -> Iterator[Cell]:
    """Means at light load, everybody by its own rules."""
    for scenario in data["scenarios"]:
        runs = scenario["runs"]
        if scenario["light"] and "failed" not in runs.get(peer, {"failed": ""}):
            for kind in _kinds(scenario):
                theirs, us = (runs[name][kind]["mean_us"] for name in (peer, OURS))
                yield Cell(peer, scenario["name"], f"{kind}.mean_us", theirs, us)


def worst(found: Iterable[Cell]) -> float:
    """The largest difference."""
    return max((abs(cell.off) for cell in found if cell.off is not None), default=0.0)


def lost(data: Data, name: str) -> int:
    """Requests that a simulator never answered, over all scenarios."""
    runs = [(scenario["requests"], scenario["runs"].get(name, {"failed": ""})) for scenario in data["scenarios"]]
    return sum(
        count - (run[kind]["count"] if run[kind] else 0)
        for requests, run in runs if "failed" not in run for kind, count in requests.items()
    )  # fmt: skip


def pages(data: Data) -> Data:
    """The largest differences by group of scenarios, and the rules that explain them."""
    every = list(cells(data))
    light = {scenario["name"] for scenario in data["scenarios"] if scenario["light"]}
    rows = []
    for group, names in GROUPS.items():
        row = [group]
        for peer in PEERS:
            mine = [cell for cell in every if cell.peer == peer and cell.scenario.startswith(names)]
            for figures in ("*.mean_us", "*.p99_us", "*s_*ed"):
                of = [cell for cell in mine if fnmatch.fnmatch(cell.figure, figures)]
                letters = sorted({letter for cell in of for letter in cell.letters()})
                row.append(" ".join([percent(worst(of), 1), *letters]) if of else NOTHING)
        rows.append(row)
    return {
        "table": grid(
            ["requests", *(f"{peer}: {what}" for peer in PEERS for what in ("means", "p99", "counts"))], rows
        ),
        "rules": grid(
            ["", "rule", "out of play with"], ([one["letter"], one["title"], one["change"]] for one in differences())
        ),
        "unexplained": [f"{one.peer} {one.scenario} {one.figure}" for one in every
                        if not one.agrees and not one.letters()],
        "light": worst(one for one in every if one.scenario in light and one.figure.endswith("mean_us")),
        "own": {
            "MQSim": worst(own_rules(data, "MQSim")),
            "SSDsim": worst(cell for cell in own_rules(data, "SSDsim") if cell.figure.startswith("read")),
        },
        "lost": {name: lost(data, name) for name in (OURS, *PEERS)},
        "commits": data["commits"], "commands": data["rules"],
    }  # fmt: skip


STUDY = Study(
    "peers", "the same requests in two other simulators", measure, pages, (*code.REPLAY, "evidence/peers"),
    needs="MQSim and SSDsim, built: `MQSIM_DIR`, `SSDSIM_DIR`",
)  # fmt: skip
