"""The runs: one device, synthetic requests at three loads and of other shapes, public samples, and collection."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial

from . import mqsim, ours, ssdsim, workloads
from .device import Device
from .workloads import HotShare, Request

COUNT = 40_000
FOOTPRINT_PAGES = 1 << 20
LOADS = {"light": 0.05, "medium": 0.3, "heavy": 0.7}
WRITE_SHARES = {"reads": 0.0, "writes": 1.0, "mixed": 0.5}

DEVICE = Device()
#: Where collection runs: one unit a chip, so that nothing but collection differs.
SMALL = Device(channels=4, chips_per_channel=2, dies_per_chip=1, planes_per_die=1, blocks_per_plane=256, free_blocks=16)
SMALL_FOOTPRINT_PAGES = 98_304
OVERWRITES = 200_000

#: Where collection hurts: two planes a die, under load. One die a chip, as the peers' chips do one thing at a time.
AGED = replace(SMALL, planes_per_die=2)
AGED_FOOTPRINT_PAGES = 2 * SMALL_FOOTPRINT_PAGES
#: Overwrites before anything is measured, and those that are measured.
AGEING, AGED_OVERWRITES = 100_000, 200_000
HOT = HotShare(pages=0.2, requests=0.8)
#: Mean times between requests that keep dies busy for 50 to 60 % of the time.
BUSY_GAPS_US = {
    ("skewed", "writes"): 410.0,
    ("skewed", "mixed"): 245.0,
    ("even", "writes"): 410.0,
    ("even", "mixed"): 305.0,
}
RARE_GAP_US = 3000.0

Options = Mapping[str, str | int | float]


@dataclass(frozen=True)
class Scenario:
    """A device, requests, and further options of the peers."""

    name: str
    title: str
    device: Device
    build: Callable[[], list[Request]]
    light: bool = False
    mqsim: Options = field(default_factory=dict)
    ssdsim: Options = field(default_factory=dict)
    #: Requests before those that are measured.
    first: int = 0


def poisson(
    name: str,
    title: str,
    load: float,
    device: Device,
    write_share: float,
    *,
    pages: int = 1,
    footprint_pages: int = FOOTPRINT_PAGES,
    sequential: bool = False,
) -> Scenario:
    """Made requests at a load."""
    build = partial(
        workloads.made,
        count=COUNT // pages,
        mean_gap_us=device.mean_gap_us(load, write_share=write_share, pages=pages),
        write_share=write_share,
        footprint_pages=footprint_pages,
        pages=pages,
        sequential=sequential,
    )
    return Scenario(name, title, device, build, light=load <= LOADS["light"])


def loads() -> list[Scenario]:
    """Requests of one page, uniform over 4 GiB."""
    return [
        poisson(f"{load}-{kind}", f"4 KB, {kind}, load {LOADS[load]:g}", LOADS[load], DEVICE, share)
        for load in LOADS
        for kind, share in WRITE_SHARES.items()
    ]


def shapes() -> list[Scenario]:
    """Larger requests, one after the other, and over few pages."""
    light, medium = LOADS["light"], LOADS["medium"]
    return [
        poisson("light-large", "32 KB, mixed, load 0.05", light, DEVICE, 0.5, pages=8),
        poisson("medium-large", "32 KB, mixed, load 0.3", medium, DEVICE, 0.5, pages=8),
        poisson("sequential-reads", "4 KB, one after the other, reads", light, DEVICE, 0.0, sequential=True),
        poisson("sequential-writes", "4 KB, one after the other, writes", light, DEVICE, 1.0, sequential=True),
        poisson("few-pages", "4 KB, mixed, load 0.3, on 128 pages", medium, DEVICE, 0.5, footprint_pages=128),
    ]


def overwritten(name: str, title: str, mean_gap_us: float, write_share: float) -> Scenario:
    """Three quarters of the small device filled, and overwritten twice."""
    build = partial(
        workloads.filled_and_overwritten,
        footprint_pages=SMALL_FOOTPRINT_PAGES,
        overwrites=OVERWRITES,
        mean_gap_us=mean_gap_us,
        write_share=write_share,
    )
    return Scenario(name, title, SMALL, build, mqsim={"Preemptible_GC_Enabled": "true"})


def collection() -> list[Scenario]:
    """Filled and overwritten: write amplification and erases."""
    return [
        overwritten("gc-writes", "collection: writes, one in 800 us", 800, 1.0),
        overwritten("gc-writes-dense", "collection: writes, one in 400 us", 400, 1.0),
        overwritten("gc-mixed", "collection: 70 % writes, one in 800 us", 800, 0.7),
        overwritten("gc-mixed-dense", "collection: 70 % writes, one in 300 us", 300, 0.7),
    ]


def aged_drive(where: str, kind: str, *, gap_us: float | None = None, name: str | None = None) -> Scenario:
    """Three quarters of a device filled, aged, and then measured: `skewed` or `even`, `writes` or 70 % of them.

    SSDsim counts free pages, those of blocks that are being written among them: one and a half blocks, on average.
    """
    skew = {"skewed": "80 % to a fifth of the pages", "even": "uniform"}[where]
    share = {"writes": 1.0, "mixed": 0.7}[kind]
    gap_us = gap_us or BUSY_GAPS_US[where, kind]
    build = partial(
        workloads.filled_and_overwritten,
        footprint_pages=AGED_FOOTPRINT_PAGES,
        overwrites=AGEING + AGED_OVERWRITES,
        mean_gap_us=gap_us,
        write_share=share,
        hot=HOT if where == "skewed" else None,
        fill_gap_us=200.0,
    )
    spare = (AGED.free_blocks + 1.5) / AGED.blocks_per_plane
    gap = f"{gap_us:g} us" if gap_us < 1000 else f"{gap_us / 1000:g} ms"
    return Scenario(
        name or f"aged-{where}-{kind}",
        f"aged: {'70 % ' if kind == 'mixed' else ''}writes, {skew}, one in {gap}",
        AGED,
        build,
        mqsim={"Preemptible_GC_Enabled": "true"},
        ssdsim={"gc threshold": spare, "gc hard threshold": spare},
        first=AGED_FOOTPRINT_PAGES + AGEING,
    )


def aged() -> list[Scenario]:
    """Collection under load, and the same requests further apart."""
    return [
        *(aged_drive(where, kind) for where, kind in BUSY_GAPS_US),
        *(aged_drive(where, "writes", gap_us=RARE_GAP_US, name=f"aged-{where}-rare") for where in ("skewed", "even")),
    ]


def everything() -> list[Scenario]:
    """All scenarios of the table."""
    return [*loads(), *shapes(), *collection(), *aged()]


#: Rules that keys of ours express, by peer.
RULES: Mapping[str, ours.Rules] = {mqsim.NAME: ours.AS_MQSIM, ssdsim.NAME: ours.AS_SSDSIM}
