"""Runs and figures that the items of the RR-SSD paper share, at the recorded clock and at that of Oracle's reads."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import cast

from flashtwin.papers.bench import Stand
from flashtwin.papers.claims import EFFECT_POINTS
from flashtwin.papers.facts import Fact, Run, derived, part, saved, share, total
from flashtwin.papers.model import Overall
from flashtwin.papers.rr_ssd import published
from flashtwin.papers.search import RateResult
from flashtwin.settings import Value

NAMES = published.WORKLOADS
MEANS = {"read": "response.read.mean_ns", "all": "response.all.mean_ns"}
READ, ALL = MEANS.values()
KINDS = {"read": "reads", "all": "reads and writes"}
COMPLETES = "engine.write_completes"
#: A system at some clock with keys set otherwise.
At = Callable[..., Run]

#: Planes of the paper's drive (Table II): 8 channels, 8 chips, 4 dies, 2 planes.
PLANES = 512
#: Of a drive as large as the workload: spare pages, as a share of the footprint.
SPARE = 0.28
#: Pages of a block as published, and the fewest that make one; fewest blocks of a plane that collects in steps.
PAGES, PAGES_MIN, BLOCKS_MIN = 256, 16, 12
#: Blocks of a plane that the controller keeps back.
RESERVE = 4


def at_clock(system: str, **sets: Value) -> Run:
    """A system as requests were recorded: nothing is chosen."""
    return Run(system, tuple(sets.items()))


def at_rate(system: str, **sets: Value) -> Run:
    """A system at the matched speed."""
    return Run(system, tuple(sets.items()), (_at_matched,))


def matched(stand: Stand) -> RateResult:
    """The one free parameter: the speed at which Oracle's read improvement is the published one."""
    if matched not in stand.memo:
        stand.memo[matched] = stand.rate(published.ORACLE["read"][stand.name], "ca-ssd", "oracle")
    return cast("RateResult", stand.memo[matched])


def _at_matched(stand: Stand) -> Mapping[str, Value]:
    return {"replay.speed": matched(stand).rate}


def saves(
    system: str, path: str = READ, at: At = at_clock, baseline: str = "ca-ssd", sets: Mapping[str, Value] | None = None
) -> Fact:
    """By how many percent a figure of a system is below the baseline's; `sets` are the system's alone."""
    return saved(at(baseline), at(system, **(sets or {})), path)


def table_iv(at: At) -> dict[str, Fact]:
    """Both columns of Table IV, and how long a read of CA-SSD queues."""
    columns = {
        f"{key} {kind}": saves(system, path, at)
        for key, system in (("RR-SSD", "rr-ssd"), ("Oracle", "oracle"))
        for kind, path in MEANS.items()
    }
    queueing = part(total(at("ca-ssd"), "response.read.split.queueing_ns"), total(at("ca-ssd"), READ))
    return {**columns, "queueing": queueing}


def share_of_oracle(gained: float | None, oracle: float | None) -> float | None:
    """RR-SSD's share of Oracle's gain, in percent; a share of next to nothing is none."""
    return share(gained, oracle) if oracle is not None and oracle >= EFFECT_POINTS else None


def oracles_share(gained: Fact, oracle: Fact) -> Fact:
    """The same of two facts."""
    return derived(share_of_oracle, gained, oracle)


def over_all(title: str, fact: Fact, value: float, subject: str = "mean") -> Overall:
    """A mean over all six workloads; not measured when one of them is missing."""
    return Overall(title, fact, value, effect=True, why="the mean is over all six workloads", subject=subject)


def sized(stand: Stand) -> Mapping[str, Value] | None:
    """Keys of a drive that the workload fills; None where it is too small for as many planes.

    Blocks are smaller than published, where a plane would have too few of them.
    """
    footprint = stand.fact("info.footprint_pages")
    if not footprint:
        return None
    plane = footprint * (1.0 + SPARE) / PLANES
    pages = PAGES
    while pages > PAGES_MIN and plane / pages < BLOCKS_MIN:
        pages //= 2
    blocks = round(plane / pages)
    if blocks < BLOCKS_MIN:
        return None
    return {
        "nand.pages_per_block": pages, "nand.blocks_per_plane": blocks + RESERVE, "replay.preload": "footprint",
    }  # fmt: skip
