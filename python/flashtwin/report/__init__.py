"""The report: charts, findings and one HTML page, made from a result folder.

    from flashtwin import report
    report.build("out")            # the page, and the charts beside it
    report.findings("out")[0].text
    report.chart("queues", "out")  # a matplotlib Figure

It reads result files and replays nothing, so results made elsewhere, or long ago, can be reported on anywhere.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from flashtwin.errors import ReportError
from flashtwin.judgement import judging
from flashtwin.judgement.evidence import Evidence
from flashtwin.judgement.verdict import CHOICE, Verdict
from flashtwin.results import names
from flashtwin.results.reading import Collection, StudyFolder, load_any

from . import files, page, rendering, reproduction, sweep
from .charts import ACROSS_CHARTS, CHARTS, WORKLOAD_CHARTS
from .declared import Chart

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["ReportError", "Verdict", "build", "chart", "chart_names", "choice", "findings"]


def build(folder: Path | str, *, out: Path | str | None = None, drawn: bool = False) -> Path:
    """Writes the page, and beside it each chart as PDF, SVG, PNG and CSV; returns the page's path.

    `out` is the folder to write to, the result folder itself when not given. Charts that `draw` has just `drawn` there
    are taken as they are. Each file appears complete or not at all. Raises `ReportError` when the results cannot be
    read or the folder cannot be written.
    """
    target = Path(folder if out is None else out)
    kind = _kind(folder)
    results = kind.load(folder)
    # Drawing takes seconds: a folder that cannot be written is found before.
    files.make_folder(target / names.CHARTS)
    charts = kind.charts(results)
    rendered = [rendering.kept(one, results, target) if drawn else rendering.render(one, results) for one in charts]
    rendering.write(target, rendered)
    html = target / names.REPORT
    files.write(html, kind.page(results, rendered))
    return html


def draw(folder: Path | str, part: int, parts: int) -> None:
    """Draws every n-th chart of a result folder into it, beside other processes; `build` then makes the page."""
    kind = _kind(folder)
    results = kind.load(folder)
    files.make_folder(Path(folder) / names.CHARTS)
    rendering.write(Path(folder), [rendering.render(one, results) for one in kind.charts(results)[part::parts]])


def count(folder: Path | str) -> int:
    """How many charts the page of a result folder has."""
    kind = _kind(folder)
    return len(kind.charts(kind.load(folder)))


def _kind(folder: Path | str) -> Any:
    """The module that makes the page of such a folder."""
    if (Path(folder) / names.REPRODUCTION).is_file():
        return reproduction
    return sweep if sweep.is_sweep(folder) else page


def chart(name: str, folder: Path | str) -> Figure:
    """One chart of a result folder; when there is nothing to draw, a figure that says why.

    Raises `ReportError` for a name that is not among `chart_names()`, and for a
    folder whose results are of another kind.
    """
    from . import drawing, fitting

    if name not in chart_names():
        raise ReportError(f"no chart is named {name!r}; there are: {', '.join(chart_names())}")
    results = page.load(folder)
    of_trace: dict[str, Chart[Any]] = {**WORKLOAD_CHARTS, **(CHARTS if isinstance(results, StudyFolder) else {})}
    known: dict[str, Chart[Any]] = {**ACROSS_CHARTS} if isinstance(results, Collection) else of_trace
    if name not in known:
        kind = "many traces" if name in ACROSS_CHARTS else "one trace" if name in WORKLOAD_CHARTS else "a study"
        raise ReportError(f"{folder}: the chart '{name}' is drawn from the results of {kind}, which these are not")
    drawn = rendering.drawn(known[name], results)
    if drawn.frame is None:
        return drawing.note(known[name].title, drawn.absent)
    figure = drawing.figure(drawn.frame)
    fitting.tell_apart(figure)
    return figure


def findings(folder: Path | str, count: int = 3) -> list[Verdict]:
    """The `count` most important verdicts on the runs of a result folder, the most important first.

    Fewer when the data hold no more; none where nothing was replayed. `Verdict.figures` holds the values behind the
    words. Raises `ReportError` when the folder cannot be read.
    """
    return judging.findings(_judged(folder), count)


def choice(folder: Path | str) -> Verdict | None:
    """Which system and settings to choose, by the candidates of a study; None where nobody looked.

    Raises `ReportError` when the folder cannot be read.
    """
    return judging.on(CHOICE, _judged(folder))


def _judged(folder: Path | str) -> list[Verdict]:
    results = load_any(folder)
    return [] if isinstance(results, Collection) else judging.judge(Evidence.of(results))


def chart_names() -> list[str]:
    return [*WORKLOAD_CHARTS, *CHARTS, *ACROSS_CHARTS]
