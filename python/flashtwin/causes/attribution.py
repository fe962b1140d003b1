"""From replays with one thing ideal at a time to causes, to pairs that share the blame, and to the first step.

cost(k) = T - T(k ideal), T being the goal's figure. Of two causes of which one is a part of the other (erases of
garbage collection) both costs are large; the narrower one is named first when it explains half of the wider one's
cost: it says more, and less has to be changed for it. What flash cells take comes last: nobody can change it.

A pair's interaction is cost(ab) - cost(a) - cost(b) (Fields et al., "Interaction cost", 2003): above 0 each hides
behind the other, below 0 either of them would do.

Pure.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence

from flashtwin.causes.candidates import BY_NAME, CANDIDATES
from flashtwin.causes.case import Case, Consequence, WhatIf, key_of
from flashtwin.causes.figures import Figures, Goal

# The thresholds are decisions of this project; no paper has them.
#: A narrower cause is named before the wider one that it is a part of from this share of the wider one's cost on.
NARROWER_SHARE = 0.5
#: A cause or a step that changes the figure by less than this, in percent, is not reported.
TOLD_PERCENT = 1.0
#: From this share of the figure on, in percent, a cause that can be removed holds a workload back: on an idle drive of
#: today transfers, or hashing, take about a tenth. Where much of the figure is waiting, `NAMED_PERCENT` is enough.
#: From there on, too, a pair of causes is looked at, and hashing for the knee of its unit.
BLAMED_PERCENT = 15.0
NAMED_PERCENT = 5.0
#: A workload without such a cause is held back by nothing when waiting is less than this share of the figure.
WAITING_SHARE = 0.2
#: A smaller step is enough when it brings this share of the best step's gain, and leaves a figure that is at most
#: `ENOUGH_PERCENT` longer than the shortest.
ENOUGH_SHARE = 0.9
ENOUGH_PERCENT = 20.0
#: Causes whose pairs are looked at, and about which something is done.
PAIRED = TREATED = 3

NOTHING = "nothing"


def ordered(causes: Iterable[Consequence]) -> list[Consequence]:
    """The causes that cost something, the first to be named first."""
    real = [cause for cause in causes if cause.percent >= TOLD_PERCENT]
    cost = {cause.name: cause.cost_ns for cause in real}

    def weight(cause: Consequence) -> tuple[bool, float, int, float, int]:
        of, mine = BY_NAME[cause.name], cause.cost_ns
        wider = [cost[name] for name in of.within & cost.keys() if mine >= NARROWER_SHARE * cost[name]]
        # Among those that explain the same wider one: the narrowest, then the dearest.
        return of.is_cells, -max([mine, *wider]), -len(of.within), -mine, CANDIDATES.index(of)

    return sorted(real, key=weight)


def bottleneck(causes: Sequence[Consequence], base: Figures, goal: Goal) -> str:
    """The name of the bottleneck; `nothing` where the time is that of flash cells and transfers."""
    waits = base.waited_share(goal) >= WAITING_SHARE
    first = next((cause for cause in causes if not BY_NAME[cause.name].is_cells), None)
    if first is not None and first.percent >= (NAMED_PERCENT if waits else BLAMED_PERCENT):
        return first.name
    # Much waiting without a single cause: the largest, though it be the cells' own.
    return max(causes, key=lambda cause: cause.cost_ns).name if causes and waits else NOTHING


def pairs(causes: Sequence[Consequence]) -> list[WhatIf]:
    """Two of the first causes ideal at once, of which neither is a part of the other; keys of both are the first's."""
    large = [cause for cause in causes if cause.percent >= NAMED_PERCENT and not BY_NAME[cause.name].is_cells][:PAIRED]
    return [
        WhatIf(
            f"{one.what_if.words} and {other.what_if.words} together", {**other.what_if.sets, **one.what_if.sets},
            of=(one.name, other.name),
        )
        for one, other in itertools.combinations(large, 2)
        if one.name not in BY_NAME[other.name].within and other.name not in BY_NAME[one.name].within
    ]  # fmt: skip


def interaction(pair: Consequence, causes: Iterable[Consequence]) -> float:
    """cost(ab) - cost(a) - cost(b), as a share of the figure in percent."""
    return pair.percent - sum(cause.percent for cause in causes if cause.name in pair.what_if.of)


def ranked(steps: Iterable[Consequence]) -> list[Consequence]:
    """Steps, largest gain first; of equal gains, the cheaper one."""
    return sorted(steps, key=lambda one: (one.after_ns, one.more("programs"), one.more("ram_bytes"), one.what_if.key))


def first_step(steps: Sequence[Consequence], name: str) -> Consequence | None:
    """What to do first: of the steps against a cause the smallest that is enough, else what brings most at all.

    The steps are in the order in which they are tried, small ones first.
    """
    helping = [step for step in steps if step.percent >= TOLD_PERCENT]
    against = [step for step in helping if step.name == name] or ranked(helping)[:1]
    enough = ENOUGH_SHARE * max((step.percent for step in against), default=0.0)
    longest = (1 + ENOUGH_PERCENT / 100.0) * min((step.after_ns for step in against), default=0.0)
    return next((step for step in against if step.percent >= enough and step.after_ns <= longest), None)


def steps(causes: Sequence[Consequence], case: Case) -> list[WhatIf]:
    """Remedies for the causes, in their order; the same keys once, and none that is set already."""
    others = [cause for cause in causes if not BY_NAME[cause.name].is_cells]
    # What decides how a drive collects is tried wherever collection costs something; the cells where they are blamed.
    treated = [cause for place, cause in enumerate(others) if place < TREATED or cause.name == "gc"]
    treated += [cause for cause in causes if BY_NAME[cause.name].is_cells and cause.percent >= BLAMED_PERCENT]
    found: dict[object, WhatIf] = {}
    for cause in treated:
        for step in BY_NAME[cause.name].steps(case):
            sets = case.changes(step.sets)
            if sets:
                found.setdefault(key_of(step.sets), WhatIf(step.words, sets, step.takes, (cause.name,)))
    return list(found.values())
