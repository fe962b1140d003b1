"""The four schemes on the DS-FTL paper's device, and the figures that its items share."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from flashtwin.papers.bench import PaperRun, Stand
from flashtwin.papers.claims import Claim, number
from flashtwin.papers.ds_ftl import published
from flashtwin.papers.facts import Fact, Run, derived, mean, total
from flashtwin.settings import Value

NAMES = published.NAMES
SCHEMES = ("static", "dynamic", "hipa", "ds-ftl")
#: What DS-FTL alone has: the allocation that proposes a place, which the other schemes are themselves. "This scheme
#: builds upon state-of-art page allocation schemes" (4.1); that of the paper's comparison is HIPA.
BELOW: Mapping[str, Value] = {"ftl.allocation.policy": "hipa"}
#: Blocks of a plane of the paper's device (Table 2), and the fewest that a small drive has.
BLOCKS, BLOCKS_MIN = 2048, 32
KINDS = ("read", "write")
ALL_EIGHT = "the mean is over all eight workloads"
#: The field of equal pages written: pages whose content another page written to the plane has.
EQUAL = "redundancy.written_equal_mean"


def device(stand: Stand) -> dict[str, Value]:
    """The paper's device, as much smaller as the workload."""
    return {
        "device": "ds-ftl",
        "blocks_per_plane": max(BLOCKS_MIN, round(BLOCKS * stand.source.scale)),
        # Duplicates of planes are counted as they are written (Fig. 11, 12).
        "ftl.spread.count_written": True,
    }


def scheme(name: str, speed: float = 1.0, **sets: Value) -> Run:
    """A scheme on the paper's device under its set-up."""
    below = BELOW if name == "ds-ftl" else {}
    return Run(name, tuple({**below, "replay.speed": speed, **sets}.items()), (device,))


def in_percent(fact: Fact) -> Fact:
    """A share of the summary in percent."""
    return derived(lambda share: None if share is None else 100.0 * share, fact)


def redirected(kind: str, speed: float = 1.0) -> Fact:
    """Shares of redirected pages."""
    return in_percent(total(scheme("ds-ftl", speed), f"spread.redirected_{kind}_share"))


def deviation(run: PaperRun) -> float | None:
    """Deviation of the channels' shares of all that they transfer, in points; None where nothing was."""
    busy = np.array([row["busy_ns"] for row in run.rows("channels")], dtype=float)
    return float(np.std(100.0 * busy / busy.sum())) if busy.sum() else None


def utilisation(run: PaperRun, table: str) -> list[float]:
    """Busy times of chips or channels, in percent of the busiest."""
    busy = [float(row["busy_ns"]) for row in run.rows(table)]
    return [100.0 * one / max(1.0, *busy) for one in busy]


def spread_claims(
    figures: Mapping[str, list[float | None]], as_published: Mapping[str, tuple[float, float, float]], what: str,
    unit: str,
) -> list[Claim]:  # fmt: skip
    """Lowest, highest and mean over the workloads, scheme by scheme."""
    claims = []
    for name, ends in as_published.items():
        values = [value for value in figures[name] if value is not None]
        whole = len(values) == len(NAMES)
        why = "" if whole else "over all eight workloads"
        measured = (min(values), max(values), mean(values)) if whole else (None, None, None)
        for word, value, of_ours in zip(("lowest", "highest", "mean"), ends, measured, strict=True):
            claims.append(number(name, f"{what}, {word}", value, of_ours, unit, why=why))
    return claims
