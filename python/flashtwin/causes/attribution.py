"""From replays with one thing ideal at a time to causes, and to the first change to make.

cost(k) = T - T(k ideal), T being the goal's figure. Of two causes of which one is a part of the other (erases of
garbage collection) both costs are large; the narrower one is named first when it explains half of the wider one's
cost: it says more, and less has to be changed for it. What flash cells take comes last: nobody can change it.

Pure.
"""

from collections.abc import Iterable, Sequence

from flashtwin.causes.bottlenecks import BOTTLENECKS, BY_NAME
from flashtwin.causes.case import Case, Consequence, WhatIf, key_of
from flashtwin.causes.figures import Figures
from flashtwin.judgement.catalogue import BY_NAME as CHANGES_BY_NAME
from flashtwin.judgement.catalogue import CHANGES, CONTROLLER
from flashtwin.judgement.goals import Goal

# The thresholds are decisions of this project; no paper has them.
#: A narrower cause is named before the wider one that it is a part of from this share of the wider one's cost on.
NARROWER_SHARE = 0.5
#: A cause that changes the figure by less than this, in percent, is not reported.
TOLD_PERCENT = 1.0
#: From this share of the figure on, in percent, a cause that can be removed holds a workload back: on an idle drive of
#: today transfers, or hashing, take about a tenth. Where much of the figure is waiting, `NAMED_PERCENT` is enough.
BLAMED_PERCENT = 15.0
NAMED_PERCENT = 5.0
#: A workload without such a cause is held back by nothing when waiting is less than this share of the figure.
WAITING_SHARE = 0.2
#: A smaller step is enough when it brings this share of the best step's gain, and leaves a figure that is at most
#: `ENOUGH_PERCENT` longer than the shortest.
ENOUGH_SHARE = 0.9
ENOUGH_PERCENT = 20.0
#: Causes about which something is done.
TREATED = 3

NOTHING = "nothing"


def ordered(causes: Iterable[Consequence]) -> list[Consequence]:
    """The causes that cost something, the first to be named first."""
    real = [cause for cause in causes if cause.percent >= TOLD_PERCENT]
    cost = {cause.name: cause.cost for cause in real}

    def weight(cause: Consequence) -> tuple[bool, float, int, float, int]:
        of, mine = BY_NAME[cause.name], cause.cost
        wider = [cost[name] for name in of.within & cost.keys() if mine >= NARROWER_SHARE * cost[name]]
        # Among those that explain the same wider one: the narrowest, then the dearest.
        return of.is_cells, -max([mine, *wider]), -len(of.within), -mine, BOTTLENECKS.index(of)

    return sorted(real, key=weight)


def bottleneck(causes: Sequence[Consequence], base: Figures, goal: Goal) -> str:
    """The name of the bottleneck; `nothing` where the time is that of flash cells and transfers."""
    waits = base.waited_share(goal) >= WAITING_SHARE
    first = next((cause for cause in causes if not BY_NAME[cause.name].is_cells), None)
    if first is not None and first.percent >= (NAMED_PERCENT if waits else BLAMED_PERCENT):
        return first.name
    # Much waiting without a single cause: the largest, though it be the cells' own.
    return max(causes, key=lambda cause: cause.cost).name if causes and waits else NOTHING


def ranked(steps: Iterable[Consequence]) -> list[Consequence]:
    """Steps, largest gain first; of equal gains, the cheaper one."""
    return sorted(steps, key=lambda one: (-one.percent, one.more("programs"), one.more("ram"), one.what_if.key))


def first_step(steps: Sequence[Consequence], name: str, worth_percent: float) -> Consequence | None:
    """What to do first: of the steps against a cause the smallest that is enough, else what brings most at all.

    None where no step is worth it. The steps are in the order of the catalogue, small ones first. A change of the
    controller is easier than another drive.
    """
    helping = [step for step in steps if step.percent > worth_percent]
    against = [step for step in helping if name in step.what_if.of] or ranked(helping)[:1]
    against = [step for step in against if CHANGES_BY_NAME[step.what_if.change].kind == CONTROLLER] or against
    most = max((step.percent for step in against), default=0.0)
    enough = max(ENOUGH_SHARE * most, 100.0 - (1 + ENOUGH_PERCENT / 100.0) * (100.0 - most))
    return next((step for step in against if step.percent >= enough), None)


def steps(causes: Sequence[Consequence], case: Case) -> list[WhatIf]:
    """Changes of the catalogue against the causes, in their order; the same keys once, and none that is set already."""
    others = [cause for cause in causes if not BY_NAME[cause.name].is_cells]
    # What decides how a drive collects is tried wherever collection costs something; the cells where they are blamed.
    treated = [cause.name for place, cause in enumerate(others) if place < TREATED or cause.name == "gc"]
    treated += [one.name for one in causes if BY_NAME[one.name].is_cells and one.percent >= BLAMED_PERCENT]
    found: dict[object, WhatIf] = {}
    for cause in treated:
        for change in (one for one in CHANGES if cause in one.causes):
            of = tuple(one for one in treated if one in change.causes)
            for level in change.of(case):
                what_if = WhatIf(level.words, case.changes(level.sets), level.takes, change.name, of)
                found.setdefault(key_of(level.sets), what_if)
    return list(found.values())
