"""What holds one candidate back: bottlenecks switched off one at a time, then changes of the catalogue against them.

cost(k) = T - T(k ideal), T being the goal's figure. Of a cause and its part (erases of collection) the part is named
first when it explains half of the cost, because less has to be changed for it. What flash cells take comes last: nobody
can change it. The wait ledger proposes, replays decide.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from flashtwin.causes.bottlenecks import BOTTLENECKS, BY_NAME
from flashtwin.causes.case import Consequence, Search, key_of
from flashtwin.judgement.catalogue import CHANGES, CONTROLLER, HANDLES, Level, Sets
from flashtwin.judgement.choosing import WORTH
from flashtwin.judgement.verdict import UNKNOWN

# The thresholds are decisions of this project; no paper has them.
#: A narrower cause is named before the wider one from this share of the wider one's cost on.
NARROWER_SHARE = 0.5
#: A cause is reported, and holds a workload back, from these shares of the figure on, in percent: on an idle drive of
#: today transfers, or hashing, take about a tenth. `NAMED_PERCENT` is enough where `WAITING_SHARE` is waiting.
TOLD_PERCENT, BLAMED_PERCENT = 1.0, 15.0
NAMED_PERCENT, WAITING_SHARE = 5.0, 0.2
#: Causes about which something is done.
TREATED = 3

NOTHING = "nothing"


@dataclass
class Inquiry(Search):
    """The search for the bottleneck of one system, whose replay as it is must be known; see `wanted`."""

    #: The share of the figure that a change must bring to be advised.
    worth: float = WORTH

    @property
    def before(self) -> float | None:
        return self.goal.value(self.case.base.summary)

    @cached_property
    def ideals(self) -> list[Level]:
        """One thing ideal at a time, those first for which the ledger speaks most."""
        # It has no charge for the host or the cells; the queue depth goes first, the cells last.
        order = sorted(BOTTLENECKS, key=lambda one: (one.name != "queue_depth", one.is_cells, -one.charge(self.case)))
        found = [one.of(self.case) for one in order] if self.before else []
        return [next((one for one in of if self.made(one.sets)), of[-1]) for of in found if of]

    @cached_property
    def changes(self) -> list[Level]:
        """Everything in the catalogue, the same keys once."""
        found: dict[object, Level] = {}
        for level in (level for change in CHANGES for level in change.of(self.case) if self.before):
            found.setdefault(key_of(level.sets), level)
        return list(found.values())

    def competes(self, sets: Mapping[str, Any]) -> bool:
        return key_of(sets) in self._controller_changes

    @cached_property
    def _controller_changes(self) -> set[object]:
        return {key_of(level.sets) for level in self.changes if level.kind == CONTROLLER}

    def wanted(self) -> list[Sets]:
        """Likely bottlenecks, changes against the first (worth more than a longer list), then all else."""
        named = NAMED_PERCENT / 100.0 * sum(self.case.base.charges(self.goal).values())
        likely = [
            one for one in self.ideals
            if one.of == ("queue_depth",) or BY_NAME[one.of[0]].charge(self.case) > named
        ]  # fmt: skip
        blamed = self.blamed()
        first = [one for one in self.treatments() if blamed is not None and blamed.name in one.of]
        stages = (likely, first, self.ideals, self.treatments())
        return next((found for stage in stages if (found := self.missing(one.sets for one in stage))), [])

    def welcome(self) -> list[Sets]:
        """All changes: where a search has replayed them, advice has their figures."""
        return [dict(one.sets) for one in self.changes]

    def causes(self) -> list[Consequence]:
        real = [one for one in self._replayed(self.ideals) if one.percent >= TOLD_PERCENT]
        cost = {one.name: one.percent for one in real}

        def weight(cause: Consequence) -> tuple[bool, float, int, float, int]:
            of, mine = BY_NAME[cause.name], cause.percent
            wider = [cost[name] for name in of.within & cost.keys() if mine >= NARROWER_SHARE * cost[name]]
            # Among those that explain the same wider one: the narrowest, then the dearest.
            return of.is_cells, -max([mine, *wider]), -len(of.within), -mine, BOTTLENECKS.index(of)

        return sorted(real, key=weight)

    def blamed(self) -> Consequence | None:
        """The bottleneck; None where the time is that of flash cells and transfers."""
        causes, waits = self.causes(), self.case.base.waited_share(self.goal) >= WAITING_SHARE
        first = next((cause for cause in causes if not BY_NAME[cause.name].is_cells), None)
        if first is not None and first.percent >= (NAMED_PERCENT if waits else BLAMED_PERCENT):
            return first
        # Much waiting without a single cause: the largest, though it be the cells' own.
        return max(causes, key=lambda cause: cause.percent, default=None) if waits else None

    def answer(self) -> str:
        """The name of the bottleneck, `nothing`, or `unknown` while more replays could change the answer."""
        blamed = self.blamed()
        if blamed is not None:
            return blamed.name
        return UNKNOWN if self.untried() or not self.before else NOTHING

    def treatments(self) -> list[Level]:
        """Changes against the first causes, and against cells that are blamed; small ones come first.

        Volumes are kept apart in any case: a host that has several asks whether that pays.
        """
        causes = self.causes()
        names = [one.name for one in causes if not BY_NAME[one.name].is_cells][:TREATED]
        names += [one.name for one in causes if BY_NAME[one.name].is_cells and one.percent >= BLAMED_PERCENT]
        return [one for one in self.changes if set(names) & set(one.of) or one.change == HANDLES]

    def steps(self) -> list[Consequence]:
        """The changes that were replayed, largest gain first; of equal gains, the cheaper one."""
        steps = self._replayed(self.changes)
        return sorted(steps, key=lambda one: (-one.percent, one.more("programs"), one.more("ram")))

    def first_step(self) -> Consequence | None:
        """The change to make first: against the bottleneck, of the controller if one will do; None if none is worth it.

        As with a choice, the smallest one that is within the margin of the best.
        """
        helping = [step for step in self._replayed(self.changes) if step.percent > self.worth * 100.0]
        answer = self.answer()
        against = [step for step in helping if answer in step.level.of] or helping
        against = [step for step in against if step.level.kind == CONTROLLER] or against
        costs = {id(step): self.goal.cost(step.value) for step in against}
        return next((step for step in against if costs[id(step)] <= min(costs.values()) * (1 + self.worth)), None)

    def untried(self) -> list[Level]:
        return [one for one in self.ideals if self.missing([one.sets])]

    def open_steps(self) -> list[Sets]:
        return self.missing(one.sets for one in self.treatments())

    def skipped(self) -> list[tuple[Level, str]]:
        """The bottlenecks and changes that cannot be built or replayed, each once, with the reason."""
        found = {key_of(one.sets): one for one in [*self.ideals, *self.treatments()]}
        return [(one, self.failed[key]) for key, one in found.items() if key in self.failed]

    def _replayed(self, levels: Iterable[Level]) -> list[Consequence]:
        known = ((one, self.known.get(key_of(one.sets))) for one in levels)
        found = [Consequence(one, self.case.base, after, self.goal) for one, after in known if after is not None]
        return [one for one in found if self.goal.value(one.after.summary) is not None]
