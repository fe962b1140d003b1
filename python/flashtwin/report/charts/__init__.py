"""The charts of the report: a function each, in the order of the page within each section.

Every chart that a module declares is one of the report.
"""

from types import ModuleType
from typing import Any

from flashtwin.results.reading import Collection, StudyFolder, TraceResults

from ..declared import Chart
from . import across, contents, flash, over_time, pages, response, workload


def _declared(*modules: ModuleType) -> dict[str, Chart[Any]]:
    found = [value for module in modules for value in vars(module).values() if isinstance(value, Chart)]
    return {chart.name: chart for chart in found}


WORKLOAD_CHARTS: dict[str, Chart[TraceResults]] = _declared(workload, contents, pages)
CHARTS: dict[str, Chart[StudyFolder]] = _declared(response, over_time, flash)
ACROSS_CHARTS: dict[str, Chart[Collection]] = _declared(across)
