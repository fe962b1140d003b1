"""Shared by the items of the DS-FTL paper: its four schemes on its device."""

from __future__ import annotations

from flashtwin.papers.bench import PaperRun, Stand
from flashtwin.papers.ds_ftl.setup import BELOW
from flashtwin.settings import Value

SCHEMES = ("static", "dynamic", "hipa", "ds-ftl")
#: Blocks of a plane of the paper's device (Table 2), and the fewest that a small drive has.
BLOCKS, BLOCKS_MIN = 2048, 32


def device(stand: Stand) -> dict[str, Value]:
    """The paper's device, as much smaller as the workload."""
    return {
        "device": "ds-ftl",
        "blocks_per_plane": max(BLOCKS_MIN, round(BLOCKS * stand.source.scale)),
        # Duplicates of planes are counted as they are written (Fig. 11, 12).
        "ftl.spread.count_written": True,
    }


def runs_at(stand: Stand, *names: str, speed: float = 1.0, **more: Value) -> dict[str, PaperRun]:
    """Schemes on the paper's device under its set-up."""
    sets: dict[str, Value] = {**device(stand), "replay.speed": speed, **more}
    below = {"ds-ftl": BELOW}
    return stand.runs({name: stand.system(name, **{**below.get(name, {}), **sets}) for name in names})


def percent_of(run: PaperRun, path: str) -> float | None:
    """A share of the summary in percent."""
    share = run.get(path)
    return None if share is None else 100.0 * share
