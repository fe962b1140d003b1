"""From a chart to its files and its part of the page: each drawn on both widths."""

from __future__ import annotations

import html
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from markupsafe import Markup

from flashtwin.results import names

from . import files, saving, sheet, style
from .charts.base import Chart, Drawing

#: The environment variable that selects drawings of charts. PAGE: only SVG; NONE: nothing, their numbers are left.
VARIABLE, PAGE, NONE = "FLASHTWIN_CHARTS", "page", "none"
#: Every file that a chart may have, after its name.
ENDINGS = (".svg", ".pdf", ".png", "-column.svg", "-column.pdf", ".csv")
#: The note in a chart's place.
_NOT_DRAWN = Markup("<p>Not drawn: {} was {}. <code>flashtwin report</code> draws it.</p>").format(VARIABLE, NONE)


@dataclass(frozen=True)
class RenderedChart:
    """A chart with its files, by what follows its name; none when there was nothing to draw."""

    chart: Chart[Any]
    drawing: Drawing
    files: Mapping[str, str | bytes] = field(default_factory=dict)


def render(chart: Chart[Any], results: Any) -> RenderedChart:
    """Draws a chart on both widths."""
    found: dict[str, str | bytes] = {}
    drawn = os.environ.get(VARIABLE) != NONE
    files_too = drawn and os.environ.get(VARIABLE) != PAGE
    first: Drawing | None = None
    for medium in sheet.MEDIA:
        with sheet.on(medium), style.styled(saved=drawn):
            drawing = chart.draw(results)
            first = first or drawing
            if drawing.figure is None:
                break
            suffix = f"-{medium.name}" if medium.name else ""
            if not suffix:
                found[".csv"] = drawing.data.csv()
            if not drawn:
                break
            found[f"{suffix}.svg"] = saving.svg(drawing.figure)
            if files_too:
                found[f"{suffix}.pdf"] = saving.pdf(drawing.figure)
            if files_too and not suffix:
                found[".png"] = saving.png(drawing.figure)
    assert first is not None  # noqa: S101 - there are media
    return RenderedChart(chart, first, found)


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


def figure_of(one: RenderedChart, pairs: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """A chart for a template: the drawings of both widths, of which the page shows one, and its files."""
    if not one.files:
        return {"chart": one.chart, "svg": Markup(""), "saved": Markup(""), "drawing": one.drawing}
    if ".svg" not in one.files:
        return {"chart": one.chart, "svg": _NOT_DRAWN, "saved": _links(one), "drawing": one.drawing}
    drawn = "".join(
        f'<div class="on-{medium.name or "text"}">{_inline(one, medium, pairs)}</div>' for medium in sheet.MEDIA
    )
    return {
        "chart": one.chart,
        "svg": Markup(drawn),  # noqa: S704 - Matplotlib escapes its output
        "saved": _links(one),
        "drawing": one.drawing,
    }


def _inline(one: RenderedChart, medium: sheet.Medium, pairs: Sequence[tuple[str, str]]) -> str:
    suffix = f"-{medium.name}" if medium.name else ""
    document = one.files[f"{suffix}.svg"]
    assert isinstance(document, str)  # noqa: S101 - as `render` makes them
    label = html.escape(one.chart.title, quote=True)
    themed = saving.themed(document, f"{one.chart.name}{suffix}", pairs)
    return themed.replace("<svg ", f'<svg role="img" aria-label="{label}" ', 1)


def _links(one: RenderedChart) -> Markup:
    """Links to the files beside the page."""

    def link(text: str, ending: str) -> str:
        address = html.escape(f"{names.CHARTS}/{one.chart.name}{ending}", quote=True)
        return f'<a href="{address}">{text}</a>' if ending in one.files else ""

    text = link("PDF", ".pdf") + link("SVG", ".svg") + link("PNG", ".png")
    column = link("PDF", "-column.pdf") + link("SVG", "-column.svg")
    spans = f"<span>Files beside this page {text}</span> <span>of 3.3 in {column}</span> " if text else ""
    # Names of charts, escaped.
    return Markup(f"{spans}<span>its numbers {link('CSV', '.csv')}</span>")  # noqa: S704
