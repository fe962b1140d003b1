"""Drives as full as one wants them: how many blocks a drive has, from how many pages a trace touches."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from flashtwin.errors import ArgumentError
from flashtwin.progress import Notify
from flashtwin.replays.presets import System
from flashtwin.traces.scan import Replayable

#: What sweeps call the share: no key of the configuration, but what decides one.
FILL = "fill"
BLOCKS = "nand.blocks_per_plane"
#: A drive that is so much less full than asked for is said to be.
_COARSE = 0.02


def filled(
    trace: Replayable, systems: Mapping[str, System], fill: float, notify: Notify | None = None
) -> dict[str, System]:
    """The same systems on the smallest drives of their kind that the trace's pages fill to no more than `fill`.

    All of a drive stays as it is but its blocks a plane: a small trace fills a wide drive in large steps. Systems on
    one kind of drive get one number of blocks, the largest that one of them needs, since they keep different numbers
    of blocks back.

    Args:
        trace: its footprint is what fills the drive.
        systems: by name.
        fill: share of the logical pages that the drive holds, above 0 and up to 1.
        notify: called with a sentence for each kind of drive.

    Raises:
        ArgumentError: `fill` is no such share.
        ConfigError: there is no drive so large.
        TraceError: the trace lacks the contents that a system needs.
    """
    if isinstance(fill, bool) or not isinstance(fill, int | float) or not (math.isfinite(fill) and 0 < fill <= 1):
        raise ArgumentError(f"fill is {fill!r}: expected a share above 0 and up to 1, such as 0.9")
    drives: dict[str, list[str]] = defaultdict(list)
    for name, system in systems.items():
        drives[_kind(system.config)].append(name)
    found: dict[str, System] = {}
    for names in drives.values():
        needed = {name: systems[name]._resolved.filled_by(trace._native, fill) for name in names}
        pages = max(pages for pages, _ in needed.values())
        blocks = max(blocks for _, blocks in needed.values())
        found |= {name: systems[name].with_sets({BLOCKS: blocks}) for name in names}
        if notify:
            holds = min(found[name]._resolved.capacity_pages for name in names)
            share, finer = pages / holds, ""
            if share < fill - _COARSE:
                planes = found[names[0]].planes
                finer = (
                    f"; one block less in each of {planes:,} planes would be too few: smaller blocks "
                    "(nand.pages_per_block) or fewer chips come nearer"
                )
            whose = "" if len(drives) == 1 else f" for {', '.join(names)}"
            notify(
                f"{BLOCKS} = {blocks}{whose}: the trace's {pages:,} pages take up {100 * share:.1f} % of what the "
                f"drive holds{finer}"
            )
    return {name: found[name] for name in systems}


def _kind(config: Mapping[str, Any]) -> str:
    """What drives have in common that differ in their blocks at most."""
    return repr(sorted((key, value) for key, value in config["nand"].items() if key != "blocks_per_plane"))
