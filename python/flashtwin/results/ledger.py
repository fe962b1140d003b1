"""Where the time of requests went: the table `wait_ledger` of a run, in words and sums.

Each nanosecond of a request is charged once: to what held the thing that it waited for, or to service. So charges sum
to the mean response time.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from flashtwin import units
from flashtwin.results.reading import SavedRun

ALL, SLOWEST_PERCENT, SLOWEST_PERMILLE = "all", "slowest_1_percent", "slowest_0_1_percent"
#: Which requests a ledger may be of, with the words for them.
REQUESTS = ((ALL, "all"), (SLOWEST_PERCENT, "the slowest 1 %"), (SLOWEST_PERMILLE, "the slowest 0.1 %"))

SERVICE = "service"
#: The resources waited for, in the order in which they are stacked: as a legend names them, and as a sentence does.
WAITS: Mapping[str, tuple[str, str]] = {
    "host_read": ("chip: host reads", "reads of the host at the chip"),
    "host_program": ("chip: host programs", "programs of the host at the chip"),
    "gc_read": ("chip: GC reads", "reads of garbage collection at the chip"),
    "gc_program": ("chip: GC programs", "programs of garbage collection at the chip"),
    "erase": ("chip: erases", "erases at the chip"),
    "copy": ("chip: copies", "the making of copies at the chip"),
    "table_page": ("chip: table pages", "pages of the mapping tables at the chip"),
    "comparison": ("chip: comparisons", "reads in the background that compare or fingerprint pages"),
    "order": ("chip: order", "operations that had to come first"),
    "suspension": ("chip: suspended", "reads that had stopped the program"),
    "channel": ("channel", "the channel"),
    "hash_queue": ("hash unit", "the hash unit"),
    "tables": ("mapping tables", "pages of the mapping tables"),
    "page_program": ("page's own program", "the program of the page itself"),
    "cache_place": ("write cache", "a place in the write cache"),
    "earlier_writes": ("earlier writes", "writes before a flush"),
    "slot": ("controller slots", "a slot of the controller"),
    "link": ("host link", "the link to the host"),
}


@dataclass(frozen=True)
class Ledger:
    """The mean response time of some requests of a run, by charge."""

    count: float
    #: The least time that any of them took.
    from_ns: float
    #: Means in ns by charge.
    waits: Mapping[str, float]
    service_ns: float

    @property
    def total_ns(self) -> float:
        return sum(self.waits.values()) + self.service_ns


def label(charge: str) -> str:
    return WAITS[charge][0] if charge in WAITS else charge.replace("_", " ")


def words(charge: str) -> str:
    return WAITS[charge][1] if charge in WAITS else charge.replace("_", " ")


def ledger(run: SavedRun, kind: str, requests: str = ALL) -> Ledger | None:
    """The ledger of the reads, the writes or all requests; None when there is none, or no such request."""
    table = run.table("wait_ledger")
    rows = table.where("kind", kind).where("requests", requests) if table is not None else None
    means, counts, from_ns = (rows.get(name) if rows else None for name in ("mean_ns", "count", "from_ns"))
    if rows is None or means is None or counts is None or counts[0] == 0:
        return None
    found = list(zip(rows.texts["part"], rows.texts["charge"], map(float, means), strict=True))
    waits = {charge: ns for part, charge, ns in found if part != SERVICE}
    ordered = {charge: waits[charge] for charge in dict.fromkeys([*WAITS, *waits]) if charge in waits}
    service = sum(ns for part, _, ns in found if part == SERVICE)
    return Ledger(float(counts[0]), 0.0 if from_ns is None else float(from_ns[0]), ordered, service)


def waited(run: SavedRun, of: Ledger) -> str:
    """The mean of some requests, and their longest wait: `3 ms under a, 48 % of it waiting for b`."""
    charge, ns = max(of.waits.items(), key=lambda wait: wait[1], default=("", 0.0))
    share = f"{units.percent(100.0 * ns / of.total_ns)} of it waiting for {words(charge)}" if ns > 0 else ""
    return f"{units.duration(of.total_ns)} on average under `{run.label}`, {share or 'none of it waiting'}"
