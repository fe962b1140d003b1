"""Runs every scenario in flashtwin and in the peers, and compares them figure by figure.

    MQSIM_DIR=/path/to/MQSim SSDSIM_DIR=/path/to/ssdsim python -m evidence peers

The peers are public: github.com/CMU-SAFARI/MQSim and github.com/huaicheng/ssdsim, at the commits that the record names.
"""

import fnmatch
import os
import tempfile
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from evidence import code
from evidence.code import ROOT
from evidence.forms import NOTHING, grid, percent
from evidence.study import Data, Lab, MissingInputError, Study

from . import mqsim, ours, scenarios, ssdsim, workloads
from .measure import Options, Outcome, PeerError, commit
from .scenarios import Scenario

OURS, PEERS = ours.NAME, {adapter.PEER.name: adapter for adapter in (mqsim, ssdsim)}
#: flashtwin by the rules of each peer.
RULES: Mapping[str, Options] = {"MQSim": ours.AS_MQSIM, "SSDsim": ours.AS_SSDSIM}
#: A larger difference needs a rule of `differences.toml` that explains it.
TOLERANCE = 0.05
#: The same of aged drives: times, and counts.
AGED_TOLERANCE, COUNT_TOLERANCE = 0.03, 0.005
AGED = "aged-"
#: Groups of the table, by the beginning of the scenarios' names.
GROUPS: Mapping[str, str] = {
    "one page, light load": "light-", "one page, load 0.3": "medium-", "one page, load 0.7": "heavy-",
    "in order": "sequential-", "on 128 pages": "few-",
    "collection": "gc-", "aged drives under load": AGED,
}  # fmt: skip
COUNTS = ("pages_programmed", "blocks_erased")


def measure(lab: Lab) -> Data:
    """Every scenario: everybody by its own rules, and flashtwin by those of each peer."""
    commits = {OURS: commit(ROOT)}
    for name, adapter in PEERS.items():
        program = adapter.PEER.program()
        if program is None:
            cure = f"set {adapter.PEER.variable} to the folder of a built {adapter.PEER.repository}"
            raise MissingInputError(f"{name} is not here; {cure}")
        commits[name] = commit(program.parent)
    found = []
    # Peers have one thread each.
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for made in pool.map(_simulated, scenarios.everything()):
            lab.say(made["name"])
            found.append(made)
    return {
        "commits": commits, "rules": {name: ours.command(rules) for name, rules in RULES.items()}, "scenarios": found,
    }  # fmt: skip


def _simulated(scenario: Scenario) -> dict[str, Any]:
    runs: dict[str, Any] = {OURS: asdict(_run(ours.simulate, scenario, {}))}
    for name, adapter in PEERS.items():
        try:
            runs[name] = asdict(_run(adapter.simulate, scenario, scenario.options.get(name, {})))
        except PeerError as error:
            runs[name] = {"failed": str(error)}
        runs[f"{OURS} as {name}"] = asdict(_run(ours.simulate, scenario, RULES[name]))
    requests = workloads.counts(scenario.build()[scenario.first :])
    return {"name": scenario.name, "light": scenario.light, "requests": requests, "runs": runs}


def _run(simulate: Any, scenario: Scenario, options: Options) -> Outcome:
    with tempfile.TemporaryDirectory() as folder:
        outcome: Outcome = simulate(scenario.device, scenario.build(), options, Path(folder), scenario.first)
    return outcome


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
        return None if not self.theirs or self.ours is None else self.ours / self.theirs - 1

    @property
    def agrees(self) -> bool:
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
    text = (Path(__file__).parent / "differences.toml").read_text(encoding="utf-8")
    found: list[dict[str, Any]] = tomllib.loads(text)["difference"]
    return found


def cells(data: Data, *, by_rules_of_peer: bool = True) -> Iterator[Cell]:
    """Every comparison of a peer with flashtwin, by the peer's rules or everybody by its own."""
    for scenario in data["scenarios"]:
        runs = scenario["runs"]
        for peer in PEERS:
            if "failed" in runs.get(peer, {"failed": ""}):
                continue
            theirs, us = runs[peer], runs[f"{OURS} as {peer}" if by_rules_of_peer else OURS]
            for kind, count in scenario["requests"].items():
                # Fewer requests have no mean that could be compared.
                for figure in ("mean_us", "p99_us") if count >= 100 else ():
                    yield Cell(peer, scenario["name"], f"{kind}.{figure}", theirs[kind][figure], us[kind][figure])
            if runs[OURS]["blocks_erased"]:
                # MQSim loses requests while it collects, so pages programmed compare on aged drives alone.
                for figure in COUNTS if scenario["name"].startswith(AGED) else ("blocks_erased",):
                    yield Cell(peer, scenario["name"], figure, theirs[figure], us[figure])


def worst(found: Iterable[Cell]) -> float:
    return max((abs(cell.off) for cell in found if cell.off is not None), default=0.0)


def lost(data: Data, name: str) -> int:
    """Requests that a simulator never answered, over all scenarios."""
    runs = [(scenario["requests"], scenario["runs"].get(name, {"failed": ""})) for scenario in data["scenarios"]]
    return sum(
        count - (run[kind]["count"] if run[kind] else 0)
        for requests, run in runs if "failed" not in run for kind, count in requests.items()
    )  # fmt: skip


def pages(data: Data) -> Data:
    every = list(cells(data))
    light = {scenario["name"] for scenario in data["scenarios"] if scenario["light"]}
    own = [one for one in cells(data, by_rules_of_peer=False)
           if one.scenario in light and one.figure.endswith("mean_us")]  # fmt: skip
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
            "MQSim": worst(one for one in own if one.peer == "MQSim"),
            "SSDsim": worst(one for one in own if one.peer == "SSDsim" and one.figure.startswith("read")),
        },
        "lost": {name: lost(data, name) for name in (OURS, *PEERS)},
        "commits": data["commits"], "commands": data["rules"],
    }  # fmt: skip


STUDY = Study(
    "peers", "the same requests in two other simulators", measure, pages, (*code.REPLAY, "evidence/peers"),
    needs="MQSim and SSDsim, built: `MQSIM_DIR`, `SSDSIM_DIR`",
)  # fmt: skip
