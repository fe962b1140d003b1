"""Runs every scenario in flashtwin and in the peers, and writes down what came of it.

    MQSIM_DIR=/path/to/MQSim SSDSIM_DIR=/path/to/ssdsim python -m evidence.peers

from the top of the repository, with the Python of the project's environment (`.venv/bin/python`). It takes a quarter of
an hour, writes docs/evidence/peers.json and the section of docs/validation.md that is made from it, and prints the
tables. To write, it needs both peers; with fewer, it only prints. They are public: github.com/CMU-SAFARI/MQSim and
github.com/huaicheng/ssdsim, at the commits that the data name; the section says how each is built.

    --msr FILE       a sample of MSR Cambridge as well
    --only PATTERN   these scenarios (`heavy-*`) only, without experiments; prints, writes nothing
    --docs           only make the section again from the data
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import flashtwin as ft

from . import experiments, mqsim, ours, scenarios, section, ssdsim, workloads
from .experiments import Experiment, MeasurementPair
from .measure import Outcome, PeerError, commit
from .scenarios import Scenario

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "docs" / "evidence" / "peers.json"
PAGE = ROOT / "docs" / "validation.md"

PEERS = {mqsim.NAME: mqsim, ssdsim.NAME: ssdsim}


class Laboratory:
    """Runs simulators, each run once."""

    def __init__(self, peers: list[str]) -> None:
        self.peers = peers
        self._done: dict[str, Outcome] = {}

    def run(self, simulator: str, scenario: Scenario, settings: Mapping[str, Any]) -> Outcome:
        """One run, or the outcome of an equal one."""
        key = repr((simulator, scenario.build, scenario.device, scenario.first, sorted(settings.items())))
        if key not in self._done:
            print(f"{scenario.name}: {simulator} {dict(settings) or ''}".rstrip(), file=sys.stderr)
            simulate = ours.simulate if simulator == ours.NAME else PEERS[simulator].simulate
            with tempfile.TemporaryDirectory() as folder:
                self._done[key] = simulate(scenario.device, scenario.build(), settings, Path(folder), scenario.first)
        return self._done[key]

    def peer(self, peer: str, scenario: Scenario) -> Outcome:
        """A peer with the settings that the scenario has for it."""
        return self.run(peer, scenario, {mqsim.NAME: scenario.mqsim, ssdsim.NAME: scenario.ssdsim}[peer])

    def scenario(self, scenario: Scenario) -> dict[str, Any]:
        """A row of the table: everybody by its own rules, and flashtwin by those of each peer."""
        requests = scenario.build()
        runs = {ours.NAME: self.run(ours.NAME, scenario, {}).as_dict()}
        for peer in self.peers:
            try:
                runs[peer] = self.peer(peer, scenario).as_dict()
            except PeerError as error:
                runs[peer] = {"failed": str(error)}
            runs[f"{ours.NAME} as {peer}"] = self.run(ours.NAME, scenario, scenarios.RULES[peer]).as_dict()
        return {
            "name": scenario.name,
            "title": scenario.title,
            "light": scenario.light,
            "device": asdict(scenario.device),
            "requests": workloads.counts(requests[scenario.first :]),
            "pages_written": workloads.pages_written(requests),
            "pages_written_before": workloads.pages_written(requests[: scenario.first]),
            "runs": runs,
        }

    def experiment(self, experiment: Experiment) -> dict[str, Any]:
        """A figure of both, with a rule and without."""

        def sides(side: MeasurementPair) -> dict[str, float | None]:
            return {
                "peer": figure(self.peer(experiment.peer, side.scenario), experiment.figure),
                "ours": figure(self.run(ours.NAME, side.scenario, side.rules), experiment.figure),
            }

        return {
            "letter": experiment.letter,
            "peer": experiment.peer,
            "scenario": experiment.before.scenario.title,
            "figure": experiment.figure,
            "before": sides(experiment.before),
            "after": sides(experiment.after),
        }


def figure(outcome: Outcome, name: str) -> float | None:
    """`write.p99_us`, `blocks_erased`."""
    value: Any = outcome
    for part in name.split("."):
        value = getattr(value, part, None)
    return None if value is None else float(value)


def simulators(peers: list[str]) -> dict[str, dict[str, Any]]:
    """Which programs these are."""
    found: dict[str, dict[str, Any]] = {
        ours.NAME: {"version": ft.__version__, "commit": commit(ROOT), "command": ours.command({})}
    }
    for peer in peers:
        program = PEERS[peer].program()
        assert program is not None
        found[peer] = {
            "repository": PEERS[peer].REPOSITORY,
            "commit": commit(program.parent),
            "command": PEERS[peer].COMMAND,
            "our_rules": ours.command(scenarios.RULES[peer]),
        }
    return found


def available() -> list[str]:
    """Peers that are built; reports missing ones."""
    found = []
    for name, peer in PEERS.items():
        if peer.program() is not None:
            found.append(name)
        else:
            print(
                f"peers: without {name}; set {peer.VARIABLE} to the folder of a built {peer.REPOSITORY}",
                file=sys.stderr,
            )
    return found


def measured(peers: list[str], msr: Path | None, only: str | None) -> dict[str, Any]:
    """Everything that is run, as the data file has it."""
    laboratory = Laboratory(peers)
    wanted = [each for each in scenarios.everything(msr) if only is None or fnmatch.fnmatch(each.name, only)]
    shown = [] if only else [each for each in experiments.everything() if each.peer in peers]
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "command": "python -m evidence.peers" + (" --msr FILE" if msr else ""),
        "simulators": simulators(peers),
        "scenarios": [laboratory.scenario(each) for each in wanted],
        "experiments": [laboratory.experiment(each) for each in shown],
    }


def arguments() -> argparse.Namespace:
    assert __doc__ is not None
    parser = argparse.ArgumentParser(prog="python -m evidence.peers", description=__doc__.partition("\n")[0])
    parser.add_argument("--msr", type=Path, help="a sample of MSR Cambridge to run as well")
    parser.add_argument("--only", metavar="PATTERN", help="these scenarios only; prints, writes nothing")
    parser.add_argument("--docs", action="store_true", help="only make the section again from the data")
    return parser.parse_args()


def main() -> int:
    chosen = arguments()
    if chosen.docs:
        section.put(PAGE, json.loads(DATA.read_text(encoding="utf-8")))
        return 0
    try:
        peers = available()
        data = measured(peers, chosen.msr, chosen.only)
    except PeerError as error:
        print(f"peers: {error}", file=sys.stderr)
        return 1
    if len(peers) == len(PEERS) and chosen.only is None:
        DATA.parent.mkdir(exist_ok=True)
        DATA.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
        section.put(PAGE, data)
    tables = (section.table, section.collection_table, section.aged_table, section.experiment_table)
    print(*(table(data) for table in tables), sep="\n\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
