"""Puts findings, tables and charts together into one HTML page.

The page is self-contained: no script, no external file, one style sheet, the
charts as inline SVG that follows the reader's light or dark setting. Its
content security policy forbids any request, so it cannot fetch even by mistake.
"""

from __future__ import annotations

import base64
import html
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from typing import Any

import jinja2
from markupsafe import Markup

from . import choices, facts, style, units
from .charts import CHARTS, Chart, Drawing
from .charts.workload import table_of_facts
from .findings import findings
from .results import Run, Study

#: The parts of the page that hold charts, in order.
SECTIONS = (
    ("workload", "The workload"),
    ("response", "Response times"),
    ("time", "Over time"),
    ("flash", "On flash and in RAM"),
)


@dataclass(frozen=True)
class Rendered:
    """A chart with the bytes of its files; both None when there was nothing to draw."""

    chart: Chart
    drawing: Drawing
    svg: str | None
    png: bytes | None


def render(study: Study) -> list[Rendered]:
    """Draws every chart of a study."""
    rendered = []
    for chart in CHARTS.values():
        with style.styled():
            drawing = chart.draw(study)
        fig = drawing.figure
        svg = style.svg(fig) if fig is not None else None
        rendered.append(Rendered(chart, drawing, svg, style.png(fig) if fig is not None else None))
    return rendered


def page(study: Study, rendered: list[Rendered]) -> str:
    """The whole page as text."""
    pairs = style.page_pairs(study)
    columns, rows = systems_table(study)
    return _template().render(
        study=study,
        title=_title(study),
        facts_line=_facts_line(study),
        findings=findings(study),
        columns=columns,
        rows=rows,
        sections=[
            (key, name, [_figure(one, pairs) for one in rendered if one.chart.section == key]) for key, name in SECTIONS
        ],
        workload_facts=table_of_facts(study),
        choices=choices.choices(study),
        warnings=choices.warnings(study),
        differences=choices.differences(study),
        settings=[(run, choices.settings(run)) for run in study.runs],
        origin=_origin(study),
        pairs=pairs,
        place_of={name: pairs.index(pair) for name, pair in style.colour_pairs(study).items()},
        css=Markup(_resource("page.css")),  # noqa: S704 - our own file
    )


@lru_cache(maxsize=1)
def _template() -> jinja2.Template:
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["prose"] = prose
    return environment.from_string(_resource("page.html.j2"))


def _resource(name: str) -> str:
    return (resources.files(__package__) / name).read_text(encoding="utf-8")


def prose(text: str) -> Markup:
    """Plain words as HTML: escaped, `names` as code, numbers kept together with their units."""
    escaped = html.escape(text, quote=False)
    escaped = re.sub(r"`([^`]*)`", r"<code>\1</code>", escaped)
    return Markup(re.sub(r"(\d) (%|ns|µs|ms|s|min|h|days|B|[KMGT]iB|[KMG])(?![\w])", "\\1\u00a0\\2", escaped))  # noqa: S704 - escaped above


def _title(study: Study) -> str:
    return str(study.trace.get("name") or study.folder.resolve().name)


def _facts_line(study: Study) -> str:
    parts = []
    for value, text in (
        (study.fact("requests"), lambda v: f"{units.count(v)} requests"),
        (study.fact("duration_ns"), units.duration),
        (study.fact("footprint_pages"), lambda v: f"{units.size(v * 4096)} footprint"),
    ):
        if value is not None:
            parts.append(text(value))
    systems = "1 system" if len(study.runs) == 1 else f"{len(study.runs)} systems"
    return " · ".join([*parts, systems])


@dataclass(frozen=True)
class Cell:
    """A number of the table of systems, its change against the baseline, and whether that is good."""

    value: str
    change: str
    sense: str


def _space(run: Run) -> float | None:
    peak = run.number("space.pages_in_use_peak")
    return peak if peak is not None else run.number("space.pages_in_use")


#: Title, second line of the title, the number, how it is written; less is better in all of them.
_COLUMNS: tuple[tuple[str, str, Callable[[Run], float | None], Callable[[float | None], str]], ...] = (
    ("Read", "mean", lambda run: facts.mean(run, "read"), units.duration),
    ("Read", "p99", lambda run: run.number("response.read.p99_ns"), units.duration),
    ("Write", "mean", lambda run: facts.mean(run, "write"), units.duration),
    ("Write", "p99", lambda run: run.number("response.write.p99_ns"), units.duration),
    ("WA", "", lambda run: run.number("write_amplification"), units.ratio),
    ("Pages", "programmed", lambda run: run.number("pages_programmed"), units.count),
    ("Erases", "", lambda run: run.number("erases.total"), units.count),
    ("Tables", "in RAM", lambda run: run.number("ram.total_bytes"), units.size),
    ("Pages in use", "peak", _space, units.count),
)


def systems_table(study: Study) -> tuple[list[tuple[str, str]], list[tuple[Run, list[Cell]]]]:
    """Column titles, and one row of cells a run."""
    rows = []
    for run in study.runs:
        cells = []
        for _, _, get, write in _COLUMNS:
            change = facts.change(get(run), get(study.baseline)) if run is not study.baseline else None
            sense = "" if change is None or units.unchanged(change) else ("worse" if change > 0 else "better")
            cells.append(Cell(write(get(run)), "" if change is None else units.change(change), sense))
        rows.append((run, cells))
    return [(title, second) for title, second, _, _ in _COLUMNS], rows


def _figure(one: Rendered, pairs: list[tuple[str, str]]) -> dict[str, Any]:
    """What the template needs of a chart."""
    name = one.chart.name
    links = []
    inline = Markup("")
    if one.svg is not None and one.png is not None:
        links = [
            ("SVG", f"{name}.svg", _data_uri("image/svg+xml", one.svg.encode())),
            ("PNG", f"{name}.png", _data_uri("image/png", one.png)),
            ("CSV", f"{name}.csv", _data_uri("text/csv", one.drawing.data.csv().encode())),
        ]
        label = html.escape(one.chart.title, quote=True)
        themed = style.themed(one.svg, name, pairs)
        inline = Markup(themed.replace("<svg ", f'<svg role="img" aria-label="{label}" ', 1))  # noqa: S704 - Matplotlib escapes what it writes
    return {"chart": one.chart, "svg": inline, "links": links, "drawing": one.drawing}


def _data_uri(kind: str, content: bytes) -> str:
    return f"data:{kind};base64,{base64.b64encode(content).decode()}"


def _origin(study: Study) -> list[tuple[str, str]]:
    """How the results came to be: version, trace digest, seeds."""
    rows = []
    version = study.info.get("flashtwin") or study.baseline.summary.get("flashtwin")
    rows.append(("flashtwin", str(version) if version else "version not recorded"))
    for title, key in (("Trace", "name"), ("Trace format", "format"), ("Trace digest", "digest")):
        if study.trace.get(key):
            rows.append((title, str(study.trace[key])))
    seeds = list(dict.fromkeys(str(run.summary.get("seed")) for run in study.runs if "seed" in run.summary))
    rows.append(("Seed", ", ".join(seeds) if seeds else "not recorded"))
    rows.append(("Baseline", study.baseline.label))
    rows += [("Also of the trace", text) for text in choices.minor_faults(study)]
    return rows
