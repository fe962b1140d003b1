"""The page of `flashtwin reproduce`: every item of a paper, published beside measured."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from markupsafe import Markup

from flashtwin import units
from flashtwin.results import names
from flashtwin.results.reading import read_json

from . import files, rendering, style
from .charts import reproduced
from .charts.base import Chart
from .page import resource, template
from .rendering import RenderedChart, figure_of

#: Verdicts with the class that paints them.
VERDICTS = {
    "agrees": "good",
    "agrees in sign and order": "fair",
    "disagrees": "bad",
    "not measurable": "none",
}


@dataclass(frozen=True)
class Section:
    """An item of a paper with its chart."""

    key: str
    item: Mapping[str, Any]
    figure: Mapping[str, Any] | None


def is_reproduction(folder: Path | str) -> bool:
    """Whether `flashtwin reproduce` wrote the folder."""
    return (Path(folder) / names.REPRODUCTION).is_file()


def build(folder: Path, target: Path) -> Path:
    """Writes the page and the charts; returns the page's path."""
    results = read_json(folder / names.REPRODUCTION)
    files.make_folder(target / names.CHARTS)
    pairs = style.page_pairs(None)
    papers = []
    for paper in results.get("papers", ()):
        sections = []
        for item in paper["items"]:
            rendered = _render(f"{paper['id']}-{item['id']}", item)
            if rendered is not None:
                rendering.write(target, [rendered])
            figure = figure_of(rendered, pairs) if rendered is not None else None
            sections.append(Section(f"{paper['id']}-{item['id']}", item, figure))
        orders = [sum(item["orders"][place] for item in paper["items"]) for place in (0, 1)]
        papers.append({"paper": paper, "sections": sections, "counts": _counts(paper), "orders": orders})
    html = target / names.REPORT
    page = template("reproduction.html.j2").render(
        papers=papers,
        choices=results.get("sensitivity") or [],
        pairs=pairs,
        css=Markup(resource("page.css")),  # noqa: S704 - our own file
        version=str(results.get("flashtwin") or "version not recorded"),
        verdicts=VERDICTS,
        published=published,
        value=value,
    )
    files.write(html, page)
    return html


def _render(name: str, item: Mapping[str, Any]) -> RenderedChart | None:
    panels = (item.get("chart") or {}).get("panels")
    if not panels:
        return None
    chart: Chart[Any] = Chart(name, f"{item['place']}: {item['title']}", "", "reproduction", reproduced.draw)
    return rendering.render(chart, panels)


def _counts(paper: Mapping[str, Any]) -> dict[str, int]:
    """Items with each verdict."""
    verdicts = [item["verdict"] for item in paper["items"]]
    return {verdict: verdicts.count(verdict) for verdict in VERDICTS}


def published(claim: Mapping[str, Any]) -> str:
    """A published number or range in words: `26.6 %`, `17 to 57 %`, `at least 32 x`."""
    low, high, unit = claim["published_low"], claim["published_high"], claim["unit"]
    if low is None and high is None:
        return units.MISSING
    if low == high:
        return value(low, unit)
    if high is None:
        return "above 0" if low == 0 else f"at least {value(low, unit)}"
    if low is None:
        return f"at most {value(high, unit)}"
    return f"{_plain(low)} to {value(high, unit)}"


def value(number: float | None, unit: str) -> str:
    """A number with its unit; an en dash for one that is missing."""
    if number is None:
        return units.MISSING
    return f"{_plain(number)}{'' if not unit else ' ×' if unit == 'x' else f' {unit}'}"


def _plain(number: float) -> str:
    """Three significant digits, or one decimal where there are more before the point; no needless zeros."""
    if abs(number) >= 100:
        text = f"{number:,.0f}"
    else:
        text = units.significant(number).replace(units.MINUS, "-")
        text = text.rstrip("0").rstrip(".") if "." in text else text
    return text.replace("-", units.MINUS)
