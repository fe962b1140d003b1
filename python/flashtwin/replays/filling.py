"""Drives as full as one wants them: how many blocks a drive has, from how many pages a trace touches."""

from collections import defaultdict
from collections.abc import Mapping

from flashtwin.errors import ArgumentError
from flashtwin.progress import Notify
from flashtwin.replays.presets import System
from flashtwin.results import ground
from flashtwin.results.keys import K
from flashtwin.traces.scan import Replayable

#: What sweeps call the share: no key of the configuration, but what decides one.
FILL = "fill"
BLOCKS = K.nand.blocks_per_plane
#: A note is made if the drive is less full than asked for by this much.
_COARSE = 0.02


def filled(
    trace: Replayable, systems: Mapping[str, System], fill: float, notify: Notify | None = None
) -> dict[str, System]:
    """The same systems on the smallest drives of their kind that the trace's pages fill to no more than `fill`.

    All of a drive stays as it is but its blocks a plane: a small trace fills a wide drive in large steps. Systems on
    one kind of drive get equal flash: the blocks of the one that needs most, since controllers keep different numbers
    of blocks back.
    """
    if not 0 < fill <= 1:
        raise ArgumentError(f"fill is {fill!r}: expected a share above 0 and up to 1, such as 0.9")
    drives: dict[str, list[str]] = defaultdict(list)
    for name, system in systems.items():
        drives[kind(system)].append(name)
    found: dict[str, System] = {}
    for names in drives.values():
        needed = {name: systems[name]._resolved.filled_by(trace._native, fill) for name in names}
        pages = max(pages for pages, _ in needed.values())
        most = max(names, key=lambda name: needed[name][1])
        made = {name: systems[name].with_sets({BLOCKS: needed[most][1]}) for name in names}
        found |= made
        if notify:
            notify(_said(made, most, pages, fill, "" if len(drives) == 1 else f" for {', '.join(names)}"))
    return {name: found[name] for name in systems}


def kind(system: System) -> str:
    """The common keys of drives that differ in their blocks at most."""
    # A key that no run depends on makes no other kind.
    same = ground.LABELS | ground.QUIET | {BLOCKS}
    return repr(sorted((key, value) for key, value in system.config["nand"].items() if f"nand.{key}" not in same))


def _said(systems: Mapping[str, System], most: str, pages: int, fill: float, whose: str) -> str:
    """How full the drives are that have as many blocks as the system `most` needs, and their spare space."""
    one = systems[most]
    shares = {name: 100 * pages / system.capacity_pages for name, system in systems.items()}
    held = f"{shares[most]:.1f} % of what the drive holds"
    others = sorted({share for share in shares.values() if share != shares[most]})
    if others:
        whose += f" (what {most} needs; the others have equal flash)"
        more = " to ".join(f"{share:.1f}" for share in dict.fromkeys((others[0], others[-1])))
        held = f"{shares[most]:.1f} % of what {most} holds, {more} % of what the others hold"
    finer = ""
    if pages / one.capacity_pages < fill - _COARSE:
        finer = (
            f"; one block less in each of {one.planes:,} planes would be too few: smaller blocks "
            "(nand.pages_per_block) or fewer chips come nearer"
        )
    return (
        f"{BLOCKS} = {one.config['nand']['blocks_per_plane']}{whose}: the trace's {pages:,} pages take up {held}; raw "
        f"over-provisioning {100 * (one.raw_pages / pages - 1):.1f} %{finer}"
    )
