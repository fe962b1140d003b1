"""The charts of the report: one file a chart, one row here to register it.

The order is the order on the page, within each section.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from flashtwin.results.reading import Collection, StudyFolder, TraceResults

from . import (
    across_knee,
    across_locality,
    across_partitions,
    across_read_amplification,
    across_read_cost,
    across_write_amplification,
    candidates,
    causes,
    copies,
    gc_victims,
    knee,
    latency,
    locality,
    locality_gain,
    miss_ratio,
    periods,
    planes,
    popular_misses,
    popularity_drift,
    popularity_reads,
    queues,
    ram,
    read_amplification,
    read_cost,
    requests,
    response,
    response_over_time,
    space,
    stability,
    temperature,
    utilisation,
    wa_page_size,
    wa_partitions,
    waits,
    workload,
    writes,
)
from .base import Chart, Data, Drawing, note_figure

Results = TypeVar("Results")


def _named(charts: Iterable[Chart[Results]]) -> dict[str, Chart[Results]]:
    return {chart.name: chart for chart in charts}


#: Charts of the trace: drawn from a characterization, with or without runs beside it.
WORKLOAD_CHARTS: dict[str, Chart[TraceResults]] = _named(
    (
        workload.CHART,
        requests.CHART,
        popularity_reads.CHART,
        popularity_drift.CHART,
        stability.CHART,
        miss_ratio.CHART,
        popular_misses.CHART,
        space.CHART,
        planes.CHART,
        temperature.CHART,
        wa_partitions.CHART,
        wa_page_size.CHART,
        read_amplification.CHART,
        read_cost.CHART,
        locality.CHART,
        locality_gain.CHART,
    )
)

#: Charts of systems: drawn from a study.
CHARTS: dict[str, Chart[StudyFolder]] = _named(
    (
        candidates.CHART,
        causes.CHART,
        knee.CHART,
        response.CHART,
        waits.CHART,
        latency.CHART,
        response_over_time.CHART,
        periods.CHART,
        queues.CHART,
        writes.CHART,
        gc_victims.CHART,
        copies.CHART,
        utilisation.CHART,
        ram.CHART,
    )
)

#: How many traces compare.
ACROSS_CHARTS: dict[str, Chart[Collection]] = _named(
    (
        across_partitions.CHART,
        across_write_amplification.CHART,
        across_knee.CHART,
        across_read_amplification.CHART,
        across_read_cost.CHART,
        across_locality.CHART,
    )
)

__all__ = ["ACROSS_CHARTS", "CHARTS", "WORKLOAD_CHARTS", "Chart", "Data", "Drawing", "note_figure"]
