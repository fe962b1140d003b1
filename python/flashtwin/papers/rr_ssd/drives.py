"""RR-SSD: the paper's drive, made as small as a workload, so that it collects and its chips differ."""

from __future__ import annotations

from collections.abc import Mapping

from flashtwin.papers.bench import Stand
from flashtwin.settings import Value

#: Planes of the paper's drive (Table II): 8 channels, 8 chips, 4 dies, 2 planes.
PLANES = 512
#: Spare pages, as a share of the footprint.
SPARE = 0.28
#: Pages of a block as published, and the fewest that make one; fewest blocks of a plane that collects in steps.
PAGES, PAGES_MIN, BLOCKS_MIN = 256, 16, 12
#: Blocks of a plane that the controller keeps back.
RESERVE = 4


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
