"""From a chart to its files and its part of the page: each drawn on both widths."""

import html
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from markupsafe import Markup

from flashtwin.results import names

from . import declared, files
from .declared import Chart, Drawing, Medium

#: The environment variable that selects drawings of charts. PAGE: only SVG; NONE: nothing, their numbers are left.
VARIABLE, PAGE, NONE = "FLASHTWIN_CHARTS", "page", "none"
#: Every file that a chart may have, after its name.
ENDINGS = (".svg", ".pdf", ".png", "-column.svg", "-column.pdf", ".csv")
_NOT_DRAWN = Markup("<p>Not drawn: {} was {}. <code>flashtwin report</code> draws it.</p>").format(VARIABLE, NONE)


@dataclass(frozen=True)
class RenderedChart:
    """A chart with its files, by what follows its name; none when there was nothing to draw."""

    chart: Chart[Any]
    drawing: Drawing
    files: Mapping[str, str | bytes] = field(default_factory=dict)


def drawn(chart: Chart[Any], results: Any) -> Drawing:
    """The chart, without NumPy's warnings: what a damaged table has no number for is missing on it."""
    with np.errstate(all="ignore"):
        return chart.draw(results)


def render(chart: Chart[Any], results: Any) -> RenderedChart:
    drawing = drawn(chart, results)
    if drawing.frame is None:
        return RenderedChart(chart, drawing)
    found: dict[str, str | bytes] = {".csv": drawing.data.csv()}
    wanted = os.environ.get(VARIABLE)
    if wanted != NONE:
        # Matplotlib is slow to import, and a page without drawings needs none.
        from . import saving

        for medium in declared.MEDIA:
            with declared.on(medium):
                of_medium = drawing if medium is declared.TEXT else drawn(chart, results)
                found |= saving.saved(of_medium.frame, medium, page_only=wanted == PAGE)
    return RenderedChart(chart, drawing, found)


def kept(chart: Chart[Any], results: Any, target: Path) -> RenderedChart:
    """A chart with the files that are drawn already."""
    paths = {ending: target / names.CHARTS / f"{chart.name}{ending}" for ending in ENDINGS}
    found: dict[str, str | bytes] = {
        ending: path.read_bytes() if ending.endswith((".pdf", ".png")) else path.read_bytes().decode()
        for ending, path in paths.items()
        if path.is_file()
    }
    return RenderedChart(chart, drawn(chart, results), found)


def write(target: Path, rendered: Iterable[RenderedChart]) -> None:
    """Writes the files of charts into a folder of results; takes those of an earlier build away that are no more."""
    for one in rendered:
        for ending in ENDINGS:
            path = target / names.CHARTS / f"{one.chart.name}{ending}"
            content = one.files.get(ending)
            if content is not None:
                files.write(path, content)
            else:
                path.unlink(missing_ok=True)


def figure_of(one: RenderedChart) -> dict[str, Any]:
    """A chart for a template: the drawings of both widths, of which the page shows one, and its files."""
    drawn = Markup("")
    if ".svg" in one.files:
        drawn = Markup("").join(_inline(one, medium) for medium in declared.MEDIA)
    elif one.files:
        drawn = _NOT_DRAWN
    return {"chart": one.chart, "svg": drawn, "saved": _links(one) if one.files else Markup(""), "drawing": one.drawing}


def _inline(one: RenderedChart, medium: Medium) -> Markup:
    from . import saving

    document = one.files[f"{medium.suffix}.svg"]
    assert isinstance(document, str)  # noqa: S101 - as `render` makes them
    label = html.escape(one.chart.title, quote=True)
    themed = saving.themed(document, f"{one.chart.name}{medium.suffix}")
    themed = themed.replace("<svg ", f'<svg role="img" aria-label="{label}" ', 1)
    return Markup(f'<div class="on-{medium.name or "text"}">{themed}</div>')  # noqa: S704 - Matplotlib escapes its output


def _links(one: RenderedChart) -> Markup:

    def link(text: str, ending: str) -> str:
        address = html.escape(f"{names.CHARTS}/{one.chart.name}{ending}", quote=True)
        return f'<a href="{address}">{text}</a>' if ending in one.files else ""

    text = link("PDF", ".pdf") + link("SVG", ".svg") + link("PNG", ".png")
    column = link("PDF", "-column.pdf") + link("SVG", "-column.svg")
    spans = f"<span>Files beside this page {text}</span> <span>of 3.3 in {column}</span> " if text else ""
    # Names of charts, escaped.
    return Markup(f"{spans}<span>its numbers {link('CSV', '.csv')}</span>")  # noqa: S704
