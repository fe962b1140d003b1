"""The charts of the report: one file a chart, one row here to register it.

The order is the order on the page, within each section.
"""

from __future__ import annotations

from . import copies, gc_victims, latency, periods, queues, ram, response, utilisation, workload, writes
from .base import Chart, Data, Drawing, note_figure

CHARTS: dict[str, Chart] = {
    chart.name: chart
    for chart in (
        workload.CHART,
        response.CHART,
        latency.CHART,
        periods.CHART,
        queues.CHART,
        writes.CHART,
        gc_victims.CHART,
        copies.CHART,
        utilisation.CHART,
        ram.CHART,
    )
}

__all__ = ["CHARTS", "Chart", "Data", "Drawing", "note_figure"]
