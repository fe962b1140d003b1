"""Where a choice holds: the same question on other drives, under other loads, and with writes answered otherwise."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flashtwin import units
from flashtwin.causes.choosing import Question, choose, contenders
from flashtwin.causes.replaying import Budget
from flashtwin.errors import ConfigError
from flashtwin.judgement.catalogue import write_cache
from flashtwin.judgement.choosing import Decision, decide
from flashtwin.replays.filling import filled
from flashtwin.replays.folders import replay_into, without_contents
from flashtwin.replays.presets import System, acknowledgements, refusal
from flashtwin.results import folder, names
from flashtwin.results.formats import FORMAT
from flashtwin.results.keys import K, undetermined
from flashtwin.results.reading import load, read_json
from flashtwin.traces.scan import Replayable


@dataclass(frozen=True)
class OtherGrounds:
    """Drives, by name or TOML file, and speeds, the first of each being that of the study; empty for that alone."""

    devices: tuple[str, ...] = ()
    speeds: tuple[float, ...] = ()

    def __bool__(self) -> bool:
        return max(len(self.devices), len(self.speeds)) > 1

    @property
    def first(self) -> dict[str, Any]:
        return {key: of[0] for key, of in ((K.device, self.devices), (K.replay.speed, self.speeds)) if of}

    def all(self, first: System) -> list[tuple[str, float]]:
        devices = self.devices or (str(first.config["device"]),)
        return list(itertools.product(devices, self.speeds or (float(first.config["replay"]["speed"]),)))


def search_all(
    path: Path, trace: Replayable, systems: Mapping[str, System], others: OtherGrounds, question: Question,
    first: Decision | None, budget: Budget, *, fill: float | None, more: bool, **how: Any,
) -> None:  # fmt: skip
    """Writes the table of choices, each searched with a budget of its own; `first` is that of the study's ground."""
    rows = []
    for place, (device, speed) in enumerate(others.all(next(iter(systems.values())))):
        if place == 0:
            rows.append(_row(device, speed, first))
            continue
        where = _ground(path, f"{Path(device).stem} {speed:g}x")
        try:
            made = {name: one.with_sets({K.device: device, K.replay.speed: speed}) for name, one in systems.items()}
            made = made if fill is None else filled(trace, made, fill)
            competing = contenders(without_contents(trace, made), question.goal, more=more)
        except ConfigError as error:
            rows.append({**_row(device, speed, None), "why": str(error)})
            continue
        own = Budget(budget.effort, budget.replay_ops)
        rows.append(_row(device, speed, choose(where, trace, competing, question, own, **how)))
    found = {"format": FORMAT, "goal_words": question.goal.words, "rows": rows, "changes": _changes(rows)}
    folder.write_json(path / names.CHOICES, found)


def acknowledge_otherwise(
    path: Path, trace: Replayable, systems: Mapping[str, System], first: Decision, *, always: bool, **how: Any
) -> None:
    """Replays the candidates with writes answered otherwise, and notes whether the choice is another one then.

    Only where the drive's file calls undetermined when it answers a write, or `always`. A write cache is left out where
    RAM answers anyway.
    """
    choice, found, key = first.choice, dict(read_json(path / names.CANDIDATES)), K.engine.write_completes
    if choice is None or not (always or key in undetermined(systems[choice.system].config)):
        return
    now, others = choice.run.setting(key), []
    for value in (one for one in acknowledgements(systems[choice.system]) if one != now):
        made: dict[str, System] = {}
        for one in first.candidates:
            sets = {name: of for name, of in one.sets.items() if name not in write_cache()} | {key: value}
            if one.late is None and not refusal(systems[one.system], sets):
                made[one.run.name] = systems[one.system].with_sets(sets)
        where = _ground(path, f"writes answered when {value}")
        replay_into(where, trace, made, equal_ground=True, **how)
        decision = decide(load(where), found)
        if decision is not None and decision.choice is not None:
            words = f"{decision.choice.words}, {decision.goal.written(decision.value(decision.choice))}"
            others.append({"value": value, "choice": decision.choice.system, "words": words})
    found["acknowledged"] = {"value": now, "choice": choice.system, "others": others}
    folder.write_json(path / names.CANDIDATES, found)


def _ground(path: Path, name: str) -> Path:
    where = path / names.GROUNDS / names.file_name(name)
    where.mkdir(parents=True, exist_ok=True)
    return where


def _row(device: str, speed: float, made: Decision | None) -> dict[str, Any]:
    first = made.choice if made is not None else None
    if made is None or first is None:
        row = {"device": device, "speed": speed, **dict.fromkeys(("choice", "value", "gain", "late")), "words": ""}
        return {**row, "alike": [], "why": made.too_few if made is not None else "no candidate could be replayed"}
    gain = made.loss(first, made.baseline).share
    return {
        "device": device, "speed": speed, "choice": first.system, "words": first.words,
        "value": made.goal.written(made.value(first)), "gain": gain if gain < float("inf") else None,
        "late": first.late, "why": "", "alike": [one.words for one in made.alike],
    }  # fmt: skip


def _changes(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """On each drive, the load at which the choice changes, or the drive falls behind."""
    sentences = []
    for device, of_device in itertools.groupby(rows, key=lambda row: row["device"]):
        by_speed = sorted(of_device, key=lambda row: row["speed"])
        for slower, faster in itertools.pairwise(by_speed):
            where = f"On `{device}`, between {slower['speed']:g} and {faster['speed']:g} times the recorded speed,"
            if faster["late"] is not None and slower["late"] is None:
                sentences.append(f"{where} the drive begins to fall behind.")
            elif None not in (slower["choice"], faster["choice"]) and slower["choice"] != faster["choice"]:
                both = units.names([str(slower["choice"]), str(faster["choice"])])
                sentences.append(f"{where} the choice changes: {both}.")
    return sentences
