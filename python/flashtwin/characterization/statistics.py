"""Statistics that papers publish about workloads, taken from a characterization."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from flashtwin.characterization.measuring import Characterization
from flashtwin.results import schema
from flashtwin.results.trees import dig

#: Entries of the fingerprint cache with which CA-SSD states miss rates (section 4.1).
CA_SSD_ENTRIES = 65_536


@dataclass(frozen=True)
class Metric:
    meaning: str
    #: A scalar of the summary by its dotted name, or a function of a characterization and the scale of its trace.
    base: str | Callable[[Characterization, float], float | None]
    #: Whether a trace at a smaller scale has less of it.
    scales: bool = False

    def measure(self, found: Characterization, scale: float) -> float | None:
        """Its value for a trace at a scale; None where it is undefined."""
        if not isinstance(self.base, str):
            return self.base(found, scale)
        value = dig(found.summary, schema.characterization_field(self.base))
        return None if value is None else float(value)


def _write_percent(found: Characterization, _: float) -> float | None:
    info = found.summary["info"]
    accesses = float(info["reads"] + info["writes"])
    return 100 * float(info["writes"]) / accesses if accesses else None


def _mean_kib(found: Characterization, _: float) -> float | None:
    info = found.summary["info"]
    accesses = float(info["reads"] + info["writes"])
    return float(info["read_bytes"] + info["write_bytes"]) / accesses / 1024 if accesses else None


def _values_for_80_percent_of_reads(found: Characterization, _: float) -> float | None:
    of_reads = (found.summary.get("popularity") or {}).get("read")
    if of_reads is None:
        return None
    of_all = of_reads["contents"] / found.summary["info"]["contents"]
    return float(of_reads["contents_for_80_percent"] * of_all)


def _writes_on_popular_read_values(found: Characterization, scale: float) -> float | None:
    share = _values_for_80_percent_of_reads(found, scale)
    if share is None:
        return None
    rows = _rows(found, "popularity")
    curve = [(row["value_fraction"], row["access_fraction"]) for row in rows if row["kind"] == "write_by_read_order"]
    # Steps of the curve are finer than a thousandth of its length where it matters.
    upto = [accesses for values, accesses in curve if values <= share / 100]
    return 100 * upto[-1] if upto else None


def _popular_write_misses(found: Characterization, scale: float) -> float | None:
    reuse = (found.summary.get("value_locality") or {}).get("write", {}).get("content")
    if reuse is None or not reuse["accesses"]:
        return None
    entries = max(1.0, CA_SSD_ENTRIES * scale)
    rows = [row for row in _rows(found, "popular_miss_ratio") if row["kind"] == "write"]
    at_most = [row["miss_fraction"] for row in rows if row["entries"] <= entries]
    # The popular values have half of the writes; the first one of each misses in every cache.
    first = reuse["popular_items"] / (reuse["accesses"] / 2)
    return max(0.0, 100 * (at_most[-1] - first)) if at_most else None


def _gap_us(found: Characterization, _: float) -> float | None:
    gap_ns = dig(found.summary, schema.characterization_field("info.trains.gap_median_ns"))
    return None if gap_ns is None else gap_ns / 1e3


def _daily_unique_reads(found: Characterization, _: float) -> float | None:
    shares = [row["unique_read_percent"] for row in by_day(found) if row["unique_read_percent"] is not None]
    return sum(shares) / len(shares) if shares else None


def by_day(found: Characterization) -> list[dict[str, float | None]]:
    """Reads of each day, in percent of its page reads: New and Rep as in Fig. 9 of the RR-SSD paper.

    `unique_read_percent` is the distinct values; `first_read_percent` those never read before (New);
    `read_before_percent` those of the day before, of which that paper's systems could have copies (Rep).
    """
    if "popularity_stability" not in found.table_names:
        return []
    days = []
    for period, day in zip(_rows(found, "periods"), _rows(found, "popularity_stability"), strict=True):
        reads = period["page_reads"]
        unique = 100 * period["distinct_contents_read"] / reads if reads else None
        shares = {name: day[name] for name in ("first_read_percent", "read_before_percent")}
        days.append({"unique_read_percent": unique, **shares})
    return days


def _rows(found: Characterization, name: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = found.table(name).to_arrow().to_pylist()
    return rows


#: Every statistic that a recipe may have as a target.
METRICS: dict[str, Metric] = {
    "requests": Metric("number of requests", "info.requests", scales=True),
    "write_percent": Metric("share of requests that are writes", _write_percent),
    "mean_request_kib": Metric("mean size of a request in KiB", _mean_kib),
    "sequential_percent": Metric("share of requests that begin where the one before ended", "info.sequential_percent"),
    "footprint_pages": Metric("distinct pages of 4 KiB accessed", "info.footprint_pages", scales=True),
    "unique_write_percent": Metric(
        "distinct values among pages written, of pages written", "info.unique_values_write_percent"
    ),
    "unique_read_percent": Metric("distinct values among pages read, of pages read", "info.unique_values_read_percent"),
    "duplicate_write_percent": Metric(
        "page writes of a value written earlier in the trace", "duplication.duplicate_percent"
    ),
    "held_duplicate_write_percent": Metric(
        "page writes of a value that some page holds at that moment", "space.duplicate_write_percent"
    ),
    "duplicate_read_percent": Metric(
        "page reads of a content that another page holds, too, at that moment", "space.duplicate_read_percent"
    ),
    "space_percent": Metric(
        "distinct contents that pages hold at the end, of these pages: the space that a CA-SSD needs",
        "space.contents_of_pages_held_percent",
    ),
    "same_content_write_percent": Metric("page writes of what the page already holds", "space.rewrite_percent"),
    "values_for_half_of_writes_percent": Metric(
        "smallest share of the values written that has half of the writes", "popularity.write.contents_for_50_percent"
    ),
    "values_for_half_of_reads_percent": Metric(
        "smallest share of the values read that has half of the reads", "popularity.read.contents_for_50_percent"
    ),
    "values_for_80_percent_of_reads_percent": Metric(
        "smallest share of all values that has 80 % of the reads", _values_for_80_percent_of_reads
    ),
    "write_percent_on_popular_read_values": Metric(
        "share of page writes that go to these values", _writes_on_popular_read_values
    ),
    "write_entries_for_90_percent": Metric(
        "LRU position within which 90 % of repeated writes find their value",
        "value_locality.write.content.entries_for_90_percent_of_reaccesses",
        scales=True,
    ),
    "read_entries_for_90_percent": Metric(
        "LRU position within which 90 % of repeated reads find their value",
        "value_locality.read.content.entries_for_90_percent_of_reaccesses",
        scales=True,
    ),
    "write_memory_saved_percent": Metric(
        "how much smaller that many entries are than all values written",
        "value_locality.write.content.memory_saved_percent",
    ),
    "popular_write_miss_percent": Metric(
        "misses, but for first ones, of writes of the values with half of the writes; 64 K LRU entries",
        _popular_write_misses,
    ),
    "first_read_percent": Metric(
        "share of a later day's page reads whose value was never read before", "drift.first_read_percent"
    ),
    "read_before_percent": Metric(
        "share of a day's page reads whose value was read on the day before", "drift.read_before_percent"
    ),
    "index_of_dispersion": Metric(
        "variance of the requests in a second, divided by their mean", "info.requests_per_second.index_of_dispersion"
    ),
    "daily_unique_read_percent": Metric(
        "distinct values among the pages read in a day, of these; mean over the days", _daily_unique_reads
    ),
    "index_of_dispersion_10_ms": Metric(
        "variance of the requests in 10 ms, divided by their mean", "info.requests_per_second.index_of_dispersion_10_ms"
    ),
    "busiest_1_ms_requests": Metric(
        "most requests within 1 ms, of each 1,000 requests in a row; mean over the trace",
        "info.requests_per_second.busiest_1_ms",
    ),
    "busiest_10_ms_requests": Metric("the same within 10 ms", "info.requests_per_second.busiest_10_ms"),
    "within_1_ms_percent": Metric(
        "requests that arrive at most 1 ms after the one before", "info.trains.within_1_ms_percent"
    ),
    "train_mean_requests": Metric(
        "requests of a train: all those that arrive at most 1 ms after the one before", "info.trains.mean_requests"
    ),
    "train_median_requests": Metric("half of the trains have at most so many", "info.trains.median_requests"),
    "train_p90_requests": Metric("nine of ten trains have at most so many", "info.trains.p90_requests"),
    "requests_in_long_trains_percent": Metric(
        "share of the requests that are in trains of 16 and more", "info.trains.requests_in_long_percent"
    ),
    "train_gap_us": Metric("median time between two requests of a train", _gap_us),
    "short_silence_percent": Metric(
        "share of the silences between trains that last at most 10 ms", "info.trains.short_silence_percent"
    ),
    "mixed_trains_percent": Metric("share of the trains with reads and writes", "info.trains.mixed_percent"),
    "joined_trains_percent": Metric(
        "share of the trains that begin where the one before ended, with the same operation",
        "info.trains.joined_percent",
    ),
    "sequential_in_trains_percent": Metric(
        "share of the requests within a train that begin where the one before ended", "info.trains.sequential_percent"
    ),
}

#: Statistics that a check shows whether or not they are targets: how requests arrive, and what comes again.
SHOWN = (
    "within_1_ms_percent", "index_of_dispersion_10_ms", "busiest_1_ms_requests", "busiest_10_ms_requests",
    "train_mean_requests", "train_median_requests", "train_p90_requests", "requests_in_long_trains_percent",
    "train_gap_us", "short_silence_percent", "mixed_trains_percent", "joined_trains_percent",
    "sequential_in_trains_percent", "daily_unique_read_percent", "first_read_percent", "read_before_percent",
    "duplicate_read_percent", "space_percent",
)  # fmt: skip
