"""The report: charts, findings and one HTML page, made from a result folder.

    from flashtwin import report
    report.build("out")            # out/report.html and out/charts/
    report.findings("out")[0].text
    report.chart("queues", "out")  # a matplotlib Figure

It reads result files only and never the native core, so results made
elsewhere, or long ago, can be reported on anywhere.
"""

from __future__ import annotations

from pathlib import Path

from matplotlib.figure import Figure

from . import files, style
from .charts import CHARTS, note_figure
from .findings import Finding, findings
from .page import page, render
from .results import ReportError, load

__all__ = ["Finding", "ReportError", "build", "chart", "chart_names", "findings"]


def build(folder: Path | str, *, out: Path | str | None = None) -> Path:
    """Writes `report.html` and `charts/<name>.svg|.png` from a result folder; returns the page's path.

    `out` is the folder to write to, the result folder itself when not given.
    Each file appears complete or not at all. Raises `ReportError` when the
    results cannot be read or the folder cannot be written.
    """
    study = load(folder)
    target = Path(folder if out is None else out)
    # Drawing takes seconds: a folder that cannot be written is found before.
    files.make_folder(target / "charts")
    rendered = render(study)
    for one in rendered:
        for suffix, content in (("svg", one.svg), ("png", one.png)):
            path = target / "charts" / f"{one.chart.name}.{suffix}"
            if content is not None:
                files.write(path, content)
            else:
                # A chart of an earlier build that these results no longer have.
                path.unlink(missing_ok=True)
    html = target / "report.html"
    files.write(html, page(study, rendered))
    return html


def chart(name: str, folder: Path | str) -> Figure:
    """One chart of a result folder; when there is nothing to draw, a figure that says why.

    Raises `ReportError` for a name that is not among `chart_names()`.
    """
    if name not in CHARTS:
        raise ReportError(f"no chart is named {name!r}; there are: {', '.join(CHARTS)}")
    known = CHARTS[name]
    with style.styled():
        drawing = known.draw(load(folder))
    return drawing.figure if drawing.figure is not None else note_figure(known.title, drawing.absent)


def chart_names() -> list[str]:
    """The names of all charts, in the order of the page."""
    return list(CHARTS)
