"""The runs: one device, synthetic requests at three loads and of other shapes, collection, and aged drives."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial

from . import workloads
from .measure import Options
from .workloads import Device, HotShare, Request

COUNT = 40_000
LOADS = {"light": 0.05, "medium": 0.3, "heavy": 0.7}
WRITE_SHARES = {"reads": 0.0, "writes": 1.0, "mixed": 0.5}

DEVICE = Device()
#: Where collection runs: one unit a chip, so that nothing but collection differs.
SMALL = Device(channels=4, chips_per_channel=2, dies_per_chip=1, planes_per_die=1, blocks_per_plane=256, free_blocks=16)
SMALL_FOOTPRINT_PAGES = 98_304
#: Where collection hurts: two planes a die, under load. One die a chip, as the peers' chips do one thing at a time.
AGED = replace(SMALL, planes_per_die=2)
AGED_FOOTPRINT_PAGES = 2 * SMALL_FOOTPRINT_PAGES
OVERWRITES = 200_000
#: Overwrites before anything is measured.
AGEING = 100_000
#: Mean times between requests that keep dies busy for 50 to 60 % of the time, and rare ones.
AGED_GAPS_US = {
    ("skewed", "writes"): 410, ("skewed", "mixed"): 245, ("even", "writes"): 410, ("even", "mixed"): 305,
    ("skewed", "rare"): 3000, ("even", "rare"): 3000,
}  # fmt: skip
#: The host goes before collection in MQSim as well.
POLITE: Options = {"Preemptible_GC_Enabled": "true"}


@dataclass(frozen=True)
class Scenario:
    """A device, requests, and further options of the peers."""

    name: str
    device: Device
    build: Callable[[], list[Request]]
    light: bool = False
    options: Mapping[str, Options] = field(default_factory=dict)
    #: Requests before those that are measured.
    first: int = 0


def everything() -> list[Scenario]:
    light, medium = LOADS["light"], LOADS["medium"]
    return [
        *(_poisson(f"{load}-{kind}", at, share) for load, at in LOADS.items() for kind, share in WRITE_SHARES.items()),
        _poisson("light-large", light, 0.5, pages=8),
        _poisson("medium-large", medium, 0.5, pages=8),
        _poisson("sequential-reads", light, 0.0, sequential=True),
        _poisson("sequential-writes", light, 1.0, sequential=True),
        _poisson("few-pages", medium, 0.5, footprint_pages=128),
        _overwritten("gc-writes", 800, 1.0),
        _overwritten("gc-writes-dense", 400, 1.0),
        _overwritten("gc-mixed", 800, 0.7),
        _overwritten("gc-mixed-dense", 300, 0.7),
        *(_aged(where, kind, gap_us) for (where, kind), gap_us in AGED_GAPS_US.items()),
    ]


def _poisson(
    name: str, load: float, write_share: float, pages: int = 1, footprint_pages: int = 1 << 20, sequential: bool = False
) -> Scenario:
    """Requests at a load, uniform over 4 GiB unless they go in order."""
    gap_us = DEVICE.mean_gap_us(load, write_share=write_share, pages=pages)
    build = partial(
        workloads.made, count=COUNT // pages, mean_gap_us=gap_us, write_share=write_share, pages=pages,
        footprint_pages=footprint_pages, sequential=sequential,
    )  # fmt: skip
    return Scenario(name, DEVICE, build, light=load <= LOADS["light"])


def _overwritten(name: str, mean_gap_us: float, write_share: float) -> Scenario:
    """Three quarters of the small device filled, and overwritten twice."""
    build = partial(
        workloads.filled_and_overwritten, footprint_pages=SMALL_FOOTPRINT_PAGES, overwrites=OVERWRITES,
        mean_gap_us=mean_gap_us, write_share=write_share,
    )  # fmt: skip
    return Scenario(name, SMALL, build, options={"MQSim": POLITE})


def _aged(where: str, kind: str, gap_us: float) -> Scenario:
    """Three quarters of a device filled, aged, and then measured.

    SSDsim counts free pages, and blocks that are being written have some: one and a half blocks, on average.
    """
    build = partial(
        workloads.filled_and_overwritten, footprint_pages=AGED_FOOTPRINT_PAGES, overwrites=AGEING + OVERWRITES,
        mean_gap_us=gap_us, write_share=0.7 if kind == "mixed" else 1.0,
        hot=HotShare(pages=0.2, requests=0.8) if where == "skewed" else None, fill_gap_us=200.0,
    )  # fmt: skip
    spare = (AGED.free_blocks + 1.5) / AGED.blocks_per_plane
    options: Mapping[str, Options] = {
        "MQSim": POLITE, "SSDsim": {"gc threshold": spare, "gc hard threshold": spare},
    }  # fmt: skip
    return Scenario(f"aged-{where}-{kind}", AGED, build, options=options, first=AGED_FOOTPRINT_PAGES + AGEING)
