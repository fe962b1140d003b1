"""Shared by the items of the RR-SSD paper: systems at the recorded clock, and at the rate that Oracle's reads set."""

from __future__ import annotations

from collections.abc import Mapping

from flashtwin.papers.bench import PaperRun, Stand, reduction, share
from flashtwin.papers.claims import EFFECT_POINTS, Claim
from flashtwin.papers.model import Facts, mean
from flashtwin.papers.rr_ssd import published
from flashtwin.papers.search import RateResult
from flashtwin.papers.text import column
from flashtwin.settings import Value

#: RR-SSD's published share of Oracle's gain for reads, in percent.
PUBLISHED_SHARE = {name: 100.0 * published.RR_SSD[name][0] / published.ORACLE[name][0] for name in published.WORKLOADS}
#: The trace's own clock.
RECORDED = 1.0
READ, ALL = "response.read.mean_ns", "response.all.mean_ns"


def matched(stand: Stand, **sets: Value) -> RateResult:
    """The one free parameter: the speed at which Oracle's read improvement is the published one."""
    key = f"rate {sorted(sets.items())}"
    if key not in stand.memo:
        stand.memo[key] = stand.rate(published.ORACLE[stand.name][0], "ca-ssd", "oracle", **sets)
    found: RateResult = stand.memo[key]
    return found


def at_rate(stand: Stand, *names: str, **sets: Value) -> dict[str, PaperRun]:
    """Systems at the matched speed, with the same keys set otherwise."""
    speed = matched(stand).rate
    return stand.runs({name: stand.system(name, **{"replay.speed": speed, **sets}) for name in names})


def at_clock(stand: Stand, *names: str, **sets: Value) -> dict[str, PaperRun]:
    """Systems as requests were recorded, with the same keys set otherwise: nothing is chosen."""
    return stand.runs({name: stand.system(name, **{"replay.speed": RECORDED, **sets}) for name in names})


def gains(runs: Mapping[str, PaperRun], name: str, baseline: str = "ca-ssd") -> tuple[float | None, float | None]:
    """Read and total improvement of a system over the baseline, in percent."""
    return reduction(runs[baseline], runs[name], READ), reduction(runs[baseline], runs[name], ALL)


def share_of_oracle(gained: float | None, oracle: float | None) -> float | None:
    """RR-SSD's share of Oracle's gain, in percent; a share of next to nothing is none."""
    return share(gained, oracle) if oracle is not None and oracle >= EFFECT_POINTS else None


def means(subject: str, quantity: str, value: float, facts: Mapping[str, Facts], key: str) -> Claim:
    """A claim about the mean over all six workloads; not measured when one of them is missing."""
    values = by_workload(facts, key)
    whole = None not in values
    why = "" if whole else "the mean is over all six workloads"
    return Claim(subject, quantity, value, value, mean(values) if whole else None, "%", True, why)


def by_workload(facts: Mapping[str, Facts], key: str) -> list[float | None]:
    """A figure of every workload of the paper, in its order."""
    return column(facts, published.WORKLOADS, key)
