"""Chooses the next replay in the search for a system's bottleneck, and draws conclusions from those made.

An inquiry replays nothing: it names keys to set, takes figures, and may be asked for causes at any time, however
few of its wishes were granted. Its order is fixed by the figures alone: the wait ledger proposes, replays decide.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property

from flashtwin.causes import attribution
from flashtwin.causes.candidates import BY_NAME, proposed
from flashtwin.causes.case import Case, Consequence, Key, Sets, WhatIf
from flashtwin.causes.figures import Figures, Goal
from flashtwin.judgement.verdict import UNKNOWN
from flashtwin.replays.presets import System

#: Lanes and speeds, as shares of the speed asked for, at which the knee of a hash unit is looked for.
LANES = (1, 2, 4, 16, 64)
SPEEDS = (0.01, 0.03, 0.1, 0.3, 1.0)


@dataclass
class Inquiry:
    """The search for the bottleneck of one system; see `wanted`, `causes`, `pairs`, `steps`, `knee`, `skipped`."""

    system: System
    base: Figures
    goal: Goal
    #: Whether the knee of the hash unit is looked for, too.
    with_knee: bool = True
    known: dict[Key, Figures] = field(default_factory=dict)
    #: Replays that could not be made, with the reason.
    failed: dict[Key, str] = field(default_factory=dict)

    @property
    def before_ns(self) -> float:
        """The goal's figure as it is; 0 where no request has one."""
        return self.base.value(self.goal) or 0.0

    @cached_property
    def case(self) -> Case:
        """The question."""
        return Case(self.system, self.base, self.goal)

    @cached_property
    def ideals(self) -> list[WhatIf]:
        """One thing ideal at a time, those first for which the ledger speaks most."""
        found = [one.off(self.case) for one in proposed(self.case)] if self.before_ns > 0 else []
        return [one for one in found if one.sets]

    def wanted(self) -> list[Sets]:
        """The next replays, the most telling first; empty when all is known."""
        # Steps come before the pairs, which change no advice.
        stages = (
            self._likely, self._first_steps, lambda: self.ideals, lambda: [*self._steps(), *self._pairs()], self._knee,
        )  # fmt: skip
        return next((found for stage in stages if (found := [dict(one.sets) for one in self._missing(stage())])), [])

    def causes(self) -> list[Consequence]:
        """The causes among the candidates switched off, the first to be named first."""
        return attribution.ordered(self._replayed(self.ideals))

    def pairs(self) -> list[Consequence]:
        """Pairs of the first causes that were switched off together, the largest overlap first."""
        causes = self.causes()
        return sorted(self._replayed(self._pairs()), key=lambda one: -abs(attribution.interaction(one, causes)))

    def steps(self) -> list[Consequence]:
        """The steps that were replayed, in the order in which they are tried."""
        return self._replayed(self._steps())

    def answer(self) -> str:
        """The name of the bottleneck, `nothing`, or `unknown` while more replays could change the answer."""
        found = attribution.bottleneck(self.causes(), self.base, self.goal)
        untold = bool(self.untried()) and (found == attribution.NOTHING or not self.known)
        return UNKNOWN if untold or self.before_ns == 0 else found

    def knee(self) -> list[tuple[float, int, float]]:
        """Speed, lanes and the mean response of all requests in ns, where the knee was looked for."""
        found = []
        for speed, lanes in self._knee_points():
            point = self._point(speed, lanes)
            figures = self.known.get(point.key) if point.sets else self.base
            mean = figures.response.get("all", {}).get("mean") if figures else None
            if mean is not None:
                found.append((speed, lanes, mean))
        return found

    def untried(self) -> list[WhatIf]:
        """Things that may cost something and were not switched off."""
        tried = {one.name for one in self._replayed(self.ideals)}
        return [one for one in self.ideals if one.of[0] not in tried and not self._reason(one)]

    def skipped(self) -> list[tuple[WhatIf, str]]:
        """The ideals, steps and pairs that cannot be built or replayed, each once, with the reason."""
        found = {one.key: one for one in [*self.ideals, *self._steps(), *self._pairs()]}
        return [(one, reason) for one in found.values() if (reason := self._reason(one))]

    def left_out(self) -> dict[str, int]:
        """The number of replays that are missing yet, by their purpose.

        Results may add more: while candidates are `untried`, these are the least.
        """
        stages = {"steps": self._steps(), "pairs": self._pairs(), "knee": self._knee()}
        return {"causes": len(self.untried()), **{what: len(self._missing(of)) for what, of in stages.items()}}

    def _replayed(self, what_ifs: Iterable[WhatIf]) -> list[Consequence]:
        """Those of which a replay has the goal's figure."""
        found = [
            Consequence(one, self.base, self.known[one.key], self.goal) for one in what_ifs if one.key in self.known
        ]
        return [one for one in found if one.after.value(self.goal) is not None]

    def _missing(self, what_ifs: Iterable[WhatIf]) -> list[WhatIf]:
        """The replays wanted, each once, that are not known yet and can be built."""
        found = {one.key: one for one in what_ifs}
        return [one for key, one in found.items() if key not in self.known and not self._reason(one)]

    def _reason(self, one: WhatIf) -> str:
        """Why there is no such replay; empty where there is one, or may be."""
        return self.case.refusal(one.sets) or self.failed.get(one.key, "")

    def _likely(self) -> list[WhatIf]:
        """Candidates with a charge in the ledger, and the host's queue depth: the cause is mostly among these."""
        least = attribution.NAMED_PERCENT / 100.0 * sum(self.base.charges(self.goal).values())
        return [
            one for one in self.ideals
            if one.of == ("queue_depth",) or BY_NAME[one.of[0]].spoken_for(self.case) > least
        ]  # fmt: skip

    def _first_steps(self) -> list[WhatIf]:
        """Steps against the causes so far: a remedy is worth more than a longer list."""
        blamed = attribution.bottleneck(self.causes(), self.base, self.goal)
        return [one for one in self._steps() if one.of == (blamed,)]

    def _steps(self) -> list[WhatIf]:
        return attribution.steps(self.causes(), self.case)

    def _pairs(self) -> list[WhatIf]:
        return attribution.pairs(self.causes())

    def _knee(self) -> list[WhatIf]:
        return [one for speed, lanes in self._knee_points() if (one := self._point(speed, lanes)).sets]

    def _knee_points(self) -> list[tuple[float, int]]:
        cost = next((one.percent for one in self._replayed(self.ideals) if one.name == "hash"), 0.0)
        now = self.case["engine.hash_lanes"]
        # A pipeline (0 lanes) has no knee.
        if not self.with_knee or not self.case["engine.hash_us"] or not now or cost < attribution.NAMED_PERCENT:
            return []
        speed = float(self.case["replay.speed"])
        shares = (1.0,) if self.case["replay.queue_depth"] else SPEEDS
        return [(speed * share, lanes) for lanes in sorted({*LANES, now}) for share in shares]

    def _point(self, speed: float, lanes: int) -> WhatIf:
        return WhatIf("", self.case.changes({"replay.speed": speed, "engine.hash_lanes": lanes}))
