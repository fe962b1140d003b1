"""What to replay next to find what holds one system back, and what the replays so far say.

An inquiry replays nothing: it names keys to set, is told figures, and may be asked for causes at any time, however
few of its wishes were granted. Its order is fixed by the figures alone: the wait ledger proposes, replays decide.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from flashtwin.causes import attribution, knobs
from flashtwin.causes.attribution import Cause, Pair, Taken
from flashtwin.causes.case import Case, Config, Key, Sets, key_of
from flashtwin.causes.figures import Figures, Goal
from flashtwin.causes.knobs import Knob
from flashtwin.causes.remedies import Step
from flashtwin.replays.presets import System

#: Causes about which something is done.
TREATED = 3
#: Lanes and speeds, as shares of the speed asked for, at which the knee of a hash unit is looked for.
LANES = (1, 2, 4, 16, 64)
SPEEDS = (0.01, 0.03, 0.1, 0.3, 1.0)
#: Share of the figure that hashing has to cost for that, in percent.
KNEE_PERCENT = 5.0


@dataclass(frozen=True)
class Skipped:
    """A what-if that was not replayed: its words, its keys, and the reason as part of a sentence."""

    words: str
    sets: Mapping[str, Any]
    reason: str


@dataclass
class Inquiry:
    """What holds one system back; see `wanted`, `causes`, `pairs`, `steps`, `knee`, `skipped`."""

    system: System
    base: Figures
    goal: Goal
    #: Whether the knee of the hash unit is looked for, too.
    with_knee: bool = True
    known: dict[Key, Figures] = field(default_factory=dict)
    #: What could not be replayed, with the reason.
    failed: dict[Key, str] = field(default_factory=dict)

    @property
    def config(self) -> Config:
        """Every key of the system."""
        return self.system.config

    @property
    def before_ns(self) -> float:
        """The goal's figure as it is; 0 where no request has one."""
        return self.base.value(self.goal) or 0.0

    @cached_property
    def _case(self) -> Case:
        return Case(self.system, self.base, self.goal)

    def skipped(self) -> list[Skipped]:
        """The ideals, steps and pairs that cannot be built or replayed, each once."""
        if self.before_ns == 0:
            return []
        ideals = [(knob.words_without(self._case), sets) for knob, sets in self._to_switch_off]
        steps = [(step.words, knobs.changes(self.config, step.sets)) for _, step in self._to_take()]
        pairs = [
            (f"{one.words} and {other.words} together", attribution.both(one, other))
            for one, other in attribution.to_pair(self.causes())
        ]
        found = {key_of(sets): Skipped(words, sets, self._reason(sets)) for words, sets in [*ideals, *steps, *pairs]}
        return [one for one in found.values() if one.reason]

    def _reason(self, sets: Mapping[str, Any]) -> str:
        """Why there is no replay with these keys; empty where there is one, or may be."""
        return self._case.refusal(sets) or self.failed.get(key_of(sets), "")

    def wanted(self) -> list[Sets]:
        """What to replay next, the most telling first; empty when all is known."""
        for stage in (self._likely_ideals, self._first_steps, self._ideals, self._treatments, self._knee):
            missing = self._missing(stage())
            if missing:
                return list(missing.values())
        return []

    def _missing(self, wanted: list[Sets]) -> dict[Key, Sets]:
        """Of what is wanted, each once, what is not known yet and can be built."""
        found = {key_of(sets): sets for sets in wanted}
        return {key: sets for key, sets in found.items() if key not in self.known and not self._reason(sets)}

    def causes(self) -> list[Cause]:
        """The causes among what was switched off, the first to be named first."""
        return attribution.ordered(self._measured())

    def pairs(self) -> list[Pair]:
        """Of the first causes those pairs that were switched off together."""
        found = []
        for one, other in attribution.to_pair(self.causes()):
            sets = attribution.both(one, other)
            after = self._value(sets)
            if after is not None:
                found.append(Pair(one, other, sets, self.before_ns - after))
        return sorted(found, key=lambda pair: -abs(pair.interaction_ns))

    def steps(self) -> list[Taken]:
        """The steps that were replayed, those that bring most first."""
        found = []
        for place, (knob, step) in enumerate(self._to_take()):
            sets = knobs.changes(self.config, step.sets)
            figures = self.known.get(key_of(sets))
            after = figures.value(self.goal) if figures else None
            if figures is None or after is None:
                continue
            found.append(
                Taken(
                    knob, step.words, sets, self.before_ns, after, step.takes, figures.programs - self.base.programs,
                    figures.erases - self.base.erases, figures.ram_bytes - self.base.ram_bytes, place,
                )
            )  # fmt: skip
        return attribution.ranked(found)

    def answer(self) -> str:
        """The name of what holds the system back, `nothing`, or `unknown` as long as that may be wrong."""
        found = attribution.bottleneck(self.causes(), self.base, self.goal)
        untold = bool(self.untried()) and (found == attribution.NOTHING or not self.known)
        return attribution.UNKNOWN if untold or self.before_ns == 0 else found

    def knee(self) -> list[tuple[float, int, float]]:
        """Speed, lanes and the mean response of all requests in ns, where the knee was looked for."""
        found = []
        for speed, lanes in self._knee_points():
            figures = self._figures(self._point(speed, lanes))
            mean = figures.response.get("all", {}).get("mean") if figures else None
            if mean is not None:
                found.append((speed, lanes, mean))
        return found

    def untried(self) -> list[Knob]:
        """Things that may cost something and were not switched off."""
        names = {cause.knob.name for cause in self._measured()}
        return [knob for knob, sets in self._to_switch_off if knob.name not in names and not self._reason(sets)]

    def left_out(self) -> dict[str, int]:
        """Of what is wanted, how many replays are missing yet, by what they would tell.

        What is found may make more of them wanted: as long as things are `untried`, these are the least.
        """
        stages = {"steps": self._steps_wanted(), "pairs": self._pairs_wanted(), "knee": self._knee()}
        missing = {what: len(self._missing(wanted)) for what, wanted in stages.items()}
        return {"causes": len(self.untried()), **missing}

    @cached_property
    def _to_switch_off(self) -> list[tuple[Knob, Sets]]:
        found = []
        for knob in knobs.proposed(self._case):
            sets = knobs.changes(self.config, knob.ideal(self._case))
            if sets:
                found.append((knob, sets))
        return found

    def _ideals(self) -> list[Sets]:
        return [sets for _, sets in self._to_switch_off] if self.before_ns > 0 else []

    def _likely_ideals(self) -> list[Sets]:
        """What the ledger has something against, the host's depth too: a cause is mostly among these."""
        least = attribution.NAMED_PERCENT / 100.0 * self.base.ledger_ns(self.goal)
        likely = [
            sets for knob, sets in self._to_switch_off
            if knob.name == "queue_depth" or knobs.spoken_for(self._case, knob) > least
        ]  # fmt: skip
        return likely if self.before_ns > 0 else []

    def _first_steps(self) -> list[Sets]:
        """Steps against what the replays so far blame: to know what to do is worth more than a longer list."""
        causes = self.causes()
        blamed = attribution.bottleneck(causes, self.base, self.goal)
        return [knobs.changes(self.config, step.sets) for knob, step in self._to_take() if knob.name == blamed]

    def _measured(self) -> Iterator[Cause]:
        for knob, sets in self._to_switch_off:
            figures = self.known.get(key_of(sets))
            after = figures.value(self.goal) if figures else None
            if figures is not None and after is not None:
                reached = attribution.is_reached(knob.name, figures)
                yield Cause(knob, knob.words_without(self._case), sets, self.before_ns, after, reached)

    def _to_take(self) -> list[tuple[Knob, Step]]:
        causes = self.causes()
        cells = [cause for cause in causes if cause.knob.is_cells and cause.percent >= attribution.BLAMED_PERCENT]
        others = [cause for cause in causes if not cause.knob.is_cells]
        # What decides how a drive collects is tried wherever collection costs something.
        treated = [cause for place, cause in enumerate(others) if place < TREATED or cause.knob.name == "gc"]
        return attribution.steps_of([*treated, *cells], self._case)

    def _treatments(self) -> list[Sets]:
        # Steps come before the pairs, which change no advice.
        return [*self._steps_wanted(), *self._pairs_wanted()]

    def _steps_wanted(self) -> list[Sets]:
        return [knobs.changes(self.config, step.sets) for _, step in self._to_take()]

    def _pairs_wanted(self) -> list[Sets]:
        return [attribution.both(one, other) for one, other in attribution.to_pair(self.causes())]

    def _knee_points(self) -> list[tuple[float, int]]:
        hashing = next((cause for cause in self._measured() if cause.knob.name == "hash"), None)
        now = self.config["engine"]["hash_lanes"]
        lone = self.config["engine"].get("hash_us", 0)
        # A pipeline (0 lanes) has no knee.
        if not self.with_knee or hashing is None or not lone or not now or hashing.percent < KNEE_PERCENT:
            return []
        speed = float(self.config["replay"]["speed"])
        shares = (1.0,) if self.config["replay"]["queue_depth"] else SPEEDS
        return [(speed * share, lanes) for lanes in sorted({*LANES, now}) for share in shares]

    def _point(self, speed: float, lanes: int) -> Sets:
        return knobs.changes(self.config, {"replay.speed": speed, "engine.hash_lanes": lanes})

    def _knee(self) -> list[Sets]:
        return [sets for speed, lanes in self._knee_points() if (sets := self._point(speed, lanes))]

    def _figures(self, sets: Sets) -> Figures | None:
        return self.known.get(key_of(sets)) if sets else self.base

    def _value(self, sets: Sets) -> float | None:
        figures = self.known.get(key_of(sets))
        return figures.value(self.goal) if figures else None
