"""Published beside measured: one claim a number, and when the two are said to agree. Pure.

The rule for a number is one for all papers and all workloads, fixed before anything was measured:

* *agrees*: the measured value lies within the published one or range, widened by a fifth of it or, for
  percentages, by 3 points, whichever is wider.
* *agrees in sign and order*: an effect (a gain, a loss) has the published sign and is at least half a
  point; a plain quantity lies within a factor of two.
* *disagrees*: neither.
* *not measurable*: nothing was measured, and the claim says why.

An item agrees when all its measured claims do. It agrees in sign and order when at most one claim in
four disagrees and at least three in four of the published orders (this workload above that one) hold.
"""

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

#: How far apart two values that agree may be: relatively, and in points of a percentage.
RELATIVE, POINTS = 0.2, 3.0
#: An effect smaller than this many points is none.
EFFECT_POINTS = 0.5
#: A plain quantity that misses by more than this factor disagrees.
FACTOR = 2.0
#: Claims of an item that may disagree, and orders that must hold, for "in sign and order".
OUTLIERS, ORDERS = 0.25, 0.75
#: A published number, or a range with an open end as None.
Published = float | tuple[float | None, float | None]


class Agreement(StrEnum):
    AGREES = "agrees"
    SIGN = "agrees in sign and order"
    DISAGREES = "disagrees"
    UNKNOWN = "not measurable"


@dataclass(frozen=True)
class Claim:
    """One published number, or range of numbers, beside the measured one."""

    subject: str
    #: The quantity; claims of one quantity are put in order.
    quantity: str
    #: The published value: lower and upper end, equal for a single number; None where there is no end.
    low: float | None
    high: float | None
    measured: float | None
    unit: str = "%"
    #: Whether its sign has a meaning: a gain is an effect, a share is not.
    effect: bool = False
    why: str = ""

    @property
    def verdict(self) -> Agreement:
        if self.measured is None:
            return Agreement.UNKNOWN
        if self._within(self.measured):
            return Agreement.AGREES
        if self._similar(self.measured):
            return Agreement.SIGN
        return Agreement.DISAGREES

    @property
    def published(self) -> float | None:
        """The published value where it is a single number."""
        return self.low if self.low == self.high else None

    @property
    def ends(self) -> list[float]:
        return [end for end in (self.low, self.high) if end is not None]

    @property
    def distance(self) -> float | None:
        """How far it is off, in tolerances: 0 for the published value or range, 1 where it just agrees."""
        if self.measured is None:
            return None
        if not self.ends or self._within(self.measured, 0.0):
            return 0.0
        near = self._nearest(self.measured)
        return abs(self.measured - near) / (tolerance(near, self.unit) or 1.0)

    def _nearest(self, value: float) -> float:
        return min(self.ends, key=lambda end: abs(end - value))

    def _within(self, value: float, tolerances: float = 1.0) -> bool:
        low, high = self.low, self.high
        low_enough = high is None or value <= high + tolerances * tolerance(high, self.unit)
        return low_enough and (low is None or value >= low - tolerances * tolerance(low, self.unit))

    def _similar(self, value: float) -> bool:
        if self.effect:
            return abs(value) >= EFFECT_POINTS and all(end * value > 0 for end in self.ends)
        near = self._nearest(value)
        return near * value > 0 and 1 / FACTOR <= value / near <= FACTOR


def nearest(published: float, by_clock: Mapping[float, float | None]) -> float | None:
    """The clock whose figure is nearest to the published one, the slowest of equals; None if no figure is known."""
    off = {clock: abs(value - published) for clock, value in by_clock.items() if value is not None}
    return min(off, key=lambda clock: (off[clock], clock), default=None)


def tolerance(value: float, unit: str) -> float:
    """How far from a published value a measured one may be and agree."""
    wide = RELATIVE * abs(value)
    return max(wide, POINTS) if unit == "%" else wide


def number(
    subject: str, quantity: str, published: Published, measured: float | None, unit: str = "%", *, effect: bool = False,
    why: str = "",
) -> Claim:  # fmt: skip
    low, high = published if isinstance(published, tuple) else (published, published)
    return Claim(subject, quantity, low, high, measured, unit, effect, why)


@dataclass(frozen=True)
class Judgement:
    verdict: Agreement
    counts: dict[str, int]
    #: Pairs of claims whose published order holds, and pairs in all.
    orders: tuple[int, int]


def judge(claims: Sequence[Claim]) -> Judgement:
    verdicts = [claim.verdict for claim in claims]
    counts = {verdict.value: verdicts.count(verdict) for verdict in Agreement}
    held, pairs = orders(claims)
    known = len(claims) - counts[Agreement.UNKNOWN]
    if known == 0:
        verdict = Agreement.UNKNOWN
    elif counts[Agreement.AGREES] == known:
        verdict = Agreement.AGREES
    elif counts[Agreement.DISAGREES] <= OUTLIERS * known and held >= ORDERS * pairs:
        verdict = Agreement.SIGN
    else:
        verdict = Agreement.DISAGREES
    return Judgement(verdict, counts, (held, pairs))


def orders(claims: Iterable[Claim]) -> tuple[int, int]:
    """Pairs of one quantity, published clearly apart, that are measured in the same order; and all such pairs."""
    groups: dict[str, list[Claim]] = {}
    for claim in claims:
        if claim.published is not None and claim.measured is not None:
            groups.setdefault(claim.quantity, []).append(claim)
    held = pairs = 0
    for group in groups.values():
        for one, other in itertools.combinations(group, 2):
            low, high = sorted((one, other), key=lambda claim: claim.published or 0.0)
            apart = (high.published or 0.0) - (low.published or 0.0)
            if apart <= tolerance(high.published or 0.0, high.unit):
                continue
            pairs += 1
            held += (high.measured or 0.0) > (low.measured or 0.0)
    return held, pairs
