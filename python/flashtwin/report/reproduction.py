"""The page of `flashtwin reproduce`: every item of a paper, published beside measured."""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import jinja2

from flashtwin import units
from flashtwin.errors import ReportError
from flashtwin.results import names
from flashtwin.results.reading import read_json

from .charts import reproduced
from .declared import Chart, Drawing
from .page import filled
from .rendering import RenderedChart, figure_of

IN_SIGN = "agrees in sign and order"
VERDICTS = {
    "agrees": "good",
    IN_SIGN: "fair",
    "disagrees": "bad",
    "not measurable": "none",
}


def load(folder: Path | str) -> Mapping[str, Any]:
    """The results of a reproduction.

    Raises:
        ReportError: no page can be made from them: the file is damaged, or another version wrote it.
    """
    path = Path(folder) / names.REPRODUCTION
    found = read_json(path)
    # All that a page shows, without pictures: it takes a few ms, and names the file before seconds are spent on these.
    try:
        for chart in charts(found):
            chart.draw(found)
        page(found, [])
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, jinja2.TemplateError) as error:
        raise ReportError(
            f"{path}: not as this version writes it ({type(error).__name__}: {error}); run `flashtwin reproduce` again"
        ) from error
    return found


def charts(results: Mapping[str, Any]) -> list[Chart[Any]]:
    return [
        Chart(key, f"{item['place']}: {item['title']}", "", "reproduction", partial(_draw, item["chart"]["panels"]))
        for paper in results.get("papers", ())
        for key, item in _items(paper)
        if (item.get("chart") or {}).get("panels")
    ]


def _draw(panels: Sequence[reproduced.PaperPanel], _: Mapping[str, Any]) -> Drawing:
    return reproduced.draw(panels)


def _items(paper: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
    return [(f"{paper['id']}-{item['id']}", item) for item in paper["items"]]


def page(results: Mapping[str, Any], rendered: Sequence[RenderedChart]) -> str:
    figures = {one.chart.name: figure_of(one) for one in rendered}
    papers = []
    for paper in results.get("papers", ()):
        verdicts = [item["verdict"] for item in paper["items"]]
        papers.append({
            "paper": paper,
            "sections": [{"key": key, "item": item, "figure": figures.get(key)} for key, item in _items(paper)],
            "counts": {verdict: verdicts.count(verdict) for verdict in VERDICTS},
            "orders": [sum(item["orders"][place] for item in paper["items"]) for place in (0, 1)],
        })  # fmt: skip
    return filled(
        "reproduction.html.j2",
        papers=papers,
        choices=results.get("sensitivity") or [],
        version=str(results.get("flashtwin") or "version not recorded"),
        verdicts=VERDICTS,
        published=published,
        value=value,
        ratio=ratio,
    )


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


def ratio(claim: Mapping[str, Any]) -> float | None:
    """Measured by published, of a number that agrees in sign and order only; None of a range, and of all others."""
    low, high = claim["published_low"], claim["published_high"]
    if claim["verdict"] != IN_SIGN or low != high or not low:
        return None
    return float(claim["measured"] / low)


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
