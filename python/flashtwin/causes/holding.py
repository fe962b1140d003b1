"""Where a choice holds: the same question on other drives, under other loads, and with writes answered otherwise."""

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
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

#: Halvings of an interval of speeds: 10 to 100 becomes a sixteenth of a decade and two digits.
_HALVINGS = 4


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


@dataclass(frozen=True)
class _SearchedGround:
    row: dict[str, Any]
    decision: Decision | None = None
    systems: Mapping[str, System] = field(default_factory=dict)


def search_all(
    path: Path, trace: Replayable, systems: Mapping[str, System], others: OtherGrounds, question: Question,
    first: Decision | None, competing: Mapping[str, System], budget: Budget, *, fill: float | None, more: bool,
    **how: Any,
) -> None:  # fmt: skip
    """Writes the table of choices, each searched with a budget of its own; `first` is that of the study's ground."""
    grounds = []
    for place, (device, speed) in enumerate(others.all(next(iter(systems.values())))):
        if place == 0:
            grounds.append(_SearchedGround(_row(device, speed, first), first, competing))
            continue
        where = _ground(path, f"{Path(device).stem} {speed:g}x")
        try:
            made = {name: one.with_sets({K.device: device, K.replay.speed: speed}) for name, one in systems.items()}
            made = made if fill is None else filled(trace, made, fill)
            there = contenders(without_contents(trace, made), question.goal, more=more)
        except ConfigError as error:
            grounds.append(_SearchedGround({**_row(device, speed, None), "why": str(error)}))
            continue
        own = Budget(budget.effort, budget.replay_ops)
        decision = choose(where, trace, there, question, own, **how)
        grounds.append(_SearchedGround(_row(device, speed, decision), decision, there.systems))
    search = read_json(path / names.CANDIDATES)

    def decided(speed: float, slower: _SearchedGround, faster: _SearchedGround) -> Decision | None:
        """The choice at another speed among the choices and the fastest of two grounds."""
        made, rows = dict[str, System](), []
        for ground in (slower, faster):
            of = ground.decision
            for one in dict.fromkeys([of.choice, of.fastest]) if of is not None else ():
                if one is not None and one.system in ground.systems:
                    name = f"{one.run.name} {ground.row['speed']:g}x"
                    made[name] = ground.systems[one.system].with_sets({**one.sets, K.replay.speed: speed})
                    rows.append({"name": name, "system": one.system, "settings": one.settings, "sets": one.sets})
        where = _ground(path, f"{Path(slower.row['device']).stem} {speed:g}x")
        replay_into(where, trace, made, equal_ground=True, **how)
        return decide(load(where), {**search, "candidates": rows})

    rows = [ground.row for ground in grounds]
    found = {"goal_words": question.goal.words, "rows": rows, "changes": _changes(grounds, decided)}
    folder.write_json(path / names.CHOICES, {"format": FORMAT, **found})


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


def _changes(
    grounds: Sequence[_SearchedGround],
    decided: Callable[[float, _SearchedGround, _SearchedGround], Decision | None],
) -> list[str]:
    """On each drive, the load at which the choice changes, or the drive falls behind."""
    sentences = []
    for device, of_device in itertools.groupby(grounds, key=lambda one: one.row["device"]):
        for slower, faster in itertools.pairwise(sorted(of_device, key=lambda one: one.row["speed"])):
            before, after = slower.row, faster.row
            if None in (before["choice"], after["choice"]) or before["late"] is not None:
                continue
            falls = after["late"] is not None
            if not falls and before["choice"] == after["choice"]:
                continue

            def is_after(speed: float, one: Any = slower, other: Any = faster, falls: bool = falls) -> bool:
                made = decided(speed, one, other)
                first = made.choice if made is not None else None
                return first is not None and (first.late is not None if falls else first.system != one.row["choice"])

            low, high = narrowed(before["speed"], after["speed"], is_after)
            both = units.names([str(before["choice"]), str(after["choice"])])
            what = "the drive begins to fall behind" if falls else f"the choice changes: {both}"
            sentences.append(f"On `{device}`, between {low:g} and {high:g} times the recorded speed, {what}.")
    return sentences


def narrowed(low: float, high: float, is_after: Callable[[float], bool]) -> tuple[float, float]:
    """A shorter interval of speeds, to two digits, in which something begins."""
    for _ in range(_HALVINGS):
        middle = float(f"{math.sqrt(low * high):.2g}")
        if not low < middle < high:
            break
        low, high = (low, middle) if is_after(middle) else (middle, high)
    return low, high
