"""Chooses the next replay in the search for a system's bottleneck, and draws conclusions from those made.

An inquiry replays nothing: it names keys to set, takes figures, and may be asked for causes at any time, however
few of its wishes were granted. Its order is fixed by the figures alone: the wait ledger proposes, replays decide.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property

from flashtwin.causes import attribution
from flashtwin.causes.bottlenecks import BY_NAME, proposed
from flashtwin.causes.case import Case, Consequence, Key, Sets, WhatIf
from flashtwin.causes.figures import Figures
from flashtwin.judgement.choosing import WORTH
from flashtwin.judgement.goals import Goal
from flashtwin.judgement.verdict import UNKNOWN
from flashtwin.replays.presets import System


@dataclass
class Inquiry:
    """The search for the bottleneck of one system; see `wanted`, `causes`, `steps`, `skipped`."""

    system: System
    base: Figures
    goal: Goal
    #: The share of the figure that a change must bring to be advised.
    worth: float = WORTH
    known: dict[Key, Figures] = field(default_factory=dict)
    #: Replays that could not be made, with the reason.
    failed: dict[Key, str] = field(default_factory=dict)

    @property
    def before(self) -> float | None:
        """The goal's figure as it is; None where no request has one."""
        return self.base.value(self.goal)

    @cached_property
    def case(self) -> Case:
        """The question."""
        return Case.of(self.system, self.base, self.goal)

    @cached_property
    def ideals(self) -> list[WhatIf]:
        """One thing ideal at a time, those first for which the ledger speaks most."""
        found = [one.off(self.case) for one in proposed(self.case)] if self.before else []
        return [one for one in found if one.sets]

    def wanted(self) -> list[Sets]:
        """The next replays, the most telling first; empty when all is known."""
        stages = (self._likely, self._first_steps, lambda: self.ideals, self._steps)
        return next((found for stage in stages if (found := [dict(one.sets) for one in self._missing(stage())])), [])

    def causes(self) -> list[Consequence]:
        """The causes among the bottlenecks switched off, the first to be named first."""
        return attribution.ordered(self._replayed(self.ideals))

    def steps(self) -> list[Consequence]:
        """The steps that were replayed, in the order in which they are tried."""
        return self._replayed(self._steps())

    def answer(self) -> str:
        """The name of the bottleneck, `nothing`, or `unknown` while more replays could change the answer."""
        found = attribution.bottleneck(self.causes(), self.base, self.goal)
        open_ = bool(self.untried()) and (found == attribution.NOTHING or not self.known)
        return UNKNOWN if open_ or not self.before else found

    def first_step(self) -> Consequence | None:
        """The change to make first; None where none is worth it."""
        return attribution.first_step(self.steps(), self.answer(), self.worth * 100.0)

    def untried(self) -> list[WhatIf]:
        """Things that may cost something and were not switched off."""
        tried = {one.name for one in self._replayed(self.ideals)}
        return [one for one in self.ideals if one.of[0] not in tried and not self._reason(one)]

    def skipped(self) -> list[tuple[WhatIf, str]]:
        """The ideals and steps that cannot be built or replayed, each once, with the reason."""
        found = {one.key: one for one in [*self.ideals, *self._steps()]}
        return [(one, reason) for one in found.values() if (reason := self._reason(one))]

    def steps_left(self) -> int:
        """The number of steps that were not replayed yet; while bottlenecks are `untried`, the least."""
        return len(self._missing(self._steps()))

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
        """Things with a charge in the ledger, and the host's queue depth: the cause is mostly among these."""
        least = attribution.NAMED_PERCENT / 100.0 * sum(self.base.charges(self.goal).values())
        return [
            one for one in self.ideals
            if one.of == ("queue_depth",) or BY_NAME[one.of[0]].spoken_for(self.case) > least
        ]  # fmt: skip

    def _first_steps(self) -> list[WhatIf]:
        """Steps against the causes so far: a remedy is worth more than a longer list."""
        blamed = attribution.bottleneck(self.causes(), self.base, self.goal)
        return [one for one in self._steps() if blamed in one.of]

    def _steps(self) -> list[WhatIf]:
        return attribution.steps(self.causes(), self.case)
