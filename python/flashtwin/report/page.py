"""Puts findings, tables and charts together into one HTML page.

The page is self-contained: no external file, one style sheet, the charts as
inline SVG that follows the reader's light or dark setting, each for a desk and
for a phone. A small script sorts tables, copies commands and hides systems;
without it everything still reads. The content security policy forbids any
request and any other script; links lead to the charts' files beside the page.
"""

from __future__ import annotations

import base64
import hashlib
import html
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from typing import Any

import jinja2
from markupsafe import Markup

from flashtwin import units
from flashtwin.judgement import choosing, facts, judging
from flashtwin.judgement.evidence import Evidence
from flashtwin.judgement.verdict import Verdict
from flashtwin.results.reading import Collection, SavedRun, StudyFolder, TraceResults, as_number
from flashtwin.results.trees import leaves

from . import choices, deciding, listing, rendering, style
from .charts import ACROSS_CHARTS, CHARTS, WORKLOAD_CHARTS, Chart, knee
from .charts.workload import CHART as BRIEF
from .charts.workload import table_of_facts
from .rendering import RenderedChart, figure_of

_CHARACTERIZATION = (
    ("contents", "Contents"),
    ("writing", "Temperature and writing"),
    ("reading", "Page size and reading"),
    ("locality", "Logical locality"),
)
#: The parts of the page that hold charts, in order, of the three kinds of results.
SECTIONS = (
    ("verdict", "Which to choose"),
    ("limits", "What holds the workload back, in figures"),
    ("workload", "The workload"),
    ("response", "Response times"),
    ("time", "Over time"),
    ("flash", "On flash and in RAM"),
    *_CHARACTERIZATION,
)
WORKLOAD_SECTIONS = (("workload", "The workload"), *_CHARACTERIZATION)
ACROSS_SECTIONS = (
    ("across_writing", "Temperature and writing"),
    ("across_reading", "Page size, reading and locality"),
)


def render(results: TraceResults | Collection) -> list[RenderedChart]:
    """Draws every chart of the results."""
    return [rendering.render(chart, results) for chart in _charts(results)]


def _charts(results: TraceResults | Collection) -> list[Chart[Any]]:
    """The charts that results of this kind have."""
    if isinstance(results, Collection):
        return list(ACROSS_CHARTS.values())
    # Without a characterization nothing but the brief is known of the workload; one sentence says so.
    of_workload = list(WORKLOAD_CHARTS.values()) if results.characterization else [BRIEF]
    return [*of_workload, *(_of_runs(results) if isinstance(results, StudyFolder) else ())]


def _of_runs(study: StudyFolder) -> list[Chart[StudyFolder]]:
    """The charts of runs; those of bottlenecks only where they were looked for."""
    absent = {"knee"} if study.explained and knee.knee(study) is None else set()
    absent |= {"causes", "knee"} if not study.explained else set()
    absent |= {"candidates"} if not study.candidates else set()
    return [chart for name, chart in CHARTS.items() if name not in absent]


def page(results: TraceResults | Collection, rendered: list[RenderedChart]) -> str:
    """The whole page as text."""
    study = results if isinstance(results, StudyFolder) else None
    verdicts = judging.judge(Evidence.of(results)) if isinstance(results, TraceResults) else []
    pairs = style.page_pairs(study)
    values: dict[str, Any] = {
        "study": study,
        "findings": judging.findings(verdicts, 3) if study is not None else None,
        "limits": [],
        "columns": [],
        "rows": [],
        "place_of": {},
        "verdict": judging.on(choosing.TOPIC, verdicts),
        "candidates": [],
        "candidate_columns": [],
        "few_candidates": 0,
        "unequal": [],
        "made_equal": False,
        "workload_facts": [],
        "advice": [],
        "choices": [],
        "warnings": [],
        "differences": [],
        "settings": [],
        "failures": [],
        "traces": [],
        "trace_columns": [],
        "gathered": [],
    }
    if study is not None:
        columns, rows = systems_table(study)
        values |= {
            "columns": columns,
            "rows": rows,
            **(deciding.table(study) if study.candidates else {}),
            "place_of": {name: pairs.index(pair) for name, pair in style.colour_pairs(study).items()},
            "limits": [(run, study.explained[run.name]) for run in study.runs if run.name in study.explained],
            "unequal": choices.unequal_ground(study),
            "gathered": choices.gathered(study),
            "made_equal": choices.was_made_equal(study),
            "choices": choices.choices(study),
            "differences": choices.differences(study),
            "settings": [(run.label, choices.settings(run)) for run in study.runs],
        }
    values |= _of_collection(results) if isinstance(results, Collection) else _of_workload(results, verdicts)
    figures = [(one.chart.section, figure_of(one, pairs)) for one in rendered]
    sections = [(key, name, [fig for section, fig in figures if section == key]) for key, name in values.pop("parts")]
    first = [fig for key, _, figs in sections if key == "verdict" for fig in figs]
    sections = [one for one in sections if one[0] != "verdict"]
    return template("page.html.j2").render(
        sections=[section for section in sections if section[2]],
        first_figures=first,
        pairs=pairs,
        css=Markup(resource("page.css")),  # noqa: S704 - our own file
        script=Markup(resource("page.js")),  # noqa: S704 - our own file
        script_hash=script_hash(),
        **values,
    )


def _of_workload(results: TraceResults, verdicts: Sequence[Verdict]) -> dict[str, Any]:
    """The content of the page of one trace, with or without runs."""
    replayed = isinstance(results, StudyFolder)
    options = results.characterization.get("options")
    values: dict[str, Any] = {
        "kicker": "Trace replay report" if replayed else "Workload report",
        "parts": SECTIONS if replayed else WORKLOAD_SECTIONS,
        "title": str(results.trace.get("name") or results.folder.resolve().name),
        "facts_line": _facts_line(results),
        "workload_facts": table_of_facts(results),
        "advice": judging.advice(verdicts) if results.characterization else [],
        "warnings": [
            *choices.warnings(results),
            *(one.claim for one in verdicts if (one.topic, one.answer) == ("load", "overloaded")),
        ],
        "origin": _origin(results),
    }
    if isinstance(options, dict) and not replayed:
        values["settings"] = [("the characterization", [(key, str(value)) for key, value in leaves(options)])]
    return values


def _of_collection(results: Collection) -> dict[str, Any]:
    """The content of the page of many traces."""
    counts = results.info.get("counts")
    number = counts if isinstance(counts, dict) else {}
    labels = (
        ("traces", "Traces characterized"),
        ("large_enough", "Large enough for any statistic (10,000 requests, 5,000 writes)"),
        ("write_amplification", "In the statistics of write amplification (100,000 page writes, 4 of each sector)"),
        ("read_amplification", "In the statistics of reading (5,000 reads)"),
    )
    rows = [(label, units.count(float(number[key]))) for key, label in labels if key in number]
    rows.append(("Could not be characterized", units.count(float(len(results.failures)))))
    return {
        "kicker": "Workloads report",
        "parts": ACROSS_SECTIONS,
        "title": results.folder.resolve().name,
        "facts_line": f"{units.count(float(number.get('traces', 0)))} traces",
        "workload_facts": rows,
        "failures": results.failures,
        "traces": listing.listed(results),
        "trace_columns": [(title, second) for title, second, _, _ in listing.COLUMNS],
        "origin": [("flashtwin", str(results.info.get("flashtwin") or "version not recorded"))],
    }


@lru_cache(maxsize=2)
def template(name: str) -> jinja2.Template:
    """A page's template, with the filters that it uses."""
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["prose"] = prose
    environment.filters["duration"] = units.duration
    environment.filters["percent"] = units.percent
    return environment.from_string(resource(name))


def script_hash() -> str:
    """By which the page's content security policy allows its script, and no other."""
    return f"sha256-{base64.b64encode(hashlib.sha256(resource('page.js').encode()).digest()).decode()}"


def resource(name: str) -> str:
    """A text file of the report's own."""
    return (resources.files(__package__) / name).read_text(encoding="utf-8")


def prose(text: str) -> Markup:
    """Plain words as HTML: escaped, `names` as code, numbers kept together with their units."""
    escaped = html.escape(text, quote=False)
    escaped = re.sub(r"`([^`]*)`", r"<code>\1</code>", escaped)
    return Markup(re.sub(r"(\d) (%|ns|µs|ms|s|min|h|days|B|[KMGT]iB|[KMG])(?![\w])", "\\1\u00a0\\2", escaped))  # noqa: S704 - escaped above


def _facts_line(study: TraceResults) -> str:
    parts = []
    for value, text in (
        (study.fact("requests"), lambda v: f"{units.count(v)} requests"),
        (study.fact("duration_ns"), units.duration),
        (study.fact("footprint_pages"), lambda v: f"{units.size(v * 4096)} footprint"),
    ):
        if value is not None:
            parts.append(text(value))
    if isinstance(study, StudyFolder):
        parts.append("1 system" if len(study.runs) == 1 else f"{len(study.runs)} systems")
        parts += _pace(study)
    return " · ".join(parts)


def _pace(study: StudyFolder) -> list[str]:
    """How the trace's clock was changed; nothing where it was not."""
    depths = {depth for run in study.runs if (depth := as_number(run.setting("replay.queue_depth")))}
    speeds = {speed for run in study.runs if (speed := as_number(run.setting("replay.speed"))) not in (None, 1.0)}
    if depths:
        return [
            f"closed loop, {units.names_plain([units.count(depth) for depth in sorted(depths)])} requests under way"
        ]
    return [f"replayed {units.names_plain([f'{speed:g}' for speed in sorted(speeds)])} times as fast"] if speeds else []


@dataclass(frozen=True)
class Cell:
    """A number of the table of systems, its change against the baseline, and whether that is good."""

    value: str
    change: str
    sense: str


def _space(run: SavedRun) -> float | None:
    peak = run.number("space.pages_in_use_peak")
    return peak if peak is not None else run.number("space.pages_in_use")


#: Titles of columns of which more is better; of all others less is.
_MORE_IS_BETTER = ("Served",)
#: Title, second line of the title, the number, how it is written.
_COLUMNS: tuple[tuple[str, str, Callable[[SavedRun], float | None], Callable[[float | None], str]], ...] = (
    ("Read", "mean", lambda run: facts.mean(run, "read"), units.duration),
    ("Read", "p99", lambda run: run.number("response.read.p99_ns"), units.duration),
    ("Read", "p99.9", lambda run: run.number("response.read.p99_9_ns"), units.duration),
    ("Write", "mean", lambda run: facts.mean(run, "write"), units.duration),
    ("Write", "p99", lambda run: run.number("response.write.p99_ns"), units.duration),
    ("Write", "p99.9", lambda run: run.number("response.write.p99_9_ns"), units.duration),
    ("Flush", "mean", lambda run: facts.mean(run, "flush"), units.duration),
    ("Flush", "p99", lambda run: run.number("response.flush.p99_ns"), units.duration),
    ("Served", "IOPS", lambda run: run.number("throughput.all.iops"), units.rate),
    ("Served", "MB/s", lambda run: run.number("throughput.all.mb_per_s"), units.rate),
    ("WA", "", lambda run: run.number("write_amplification"), units.ratio),
    ("Programs", "pages", lambda run: run.number("pages_programmed"), units.count),
    ("Erases", "", lambda run: run.number("erases.total"), units.count),
    ("Tables", "in RAM", lambda run: run.number("ram.total_bytes"), units.size),
    ("In use", "pages, peak", _space, units.count),
)


def systems_table(study: StudyFolder) -> tuple[list[tuple[str, str]], list[tuple[SavedRun, list[Cell]]]]:
    """Column titles, and one row of cells a run."""
    flushed = any(run.number("requests.flush") for run in study.runs)
    columns = [column for column in _COLUMNS if flushed or column[0] != "Flush"]
    rows = []
    for run in study.runs:
        base = None if run is study.baseline else study.baseline
        cells = [
            _cell(write, get(run), get(base) if base is not None else None, more_is_better=title in _MORE_IS_BETTER)
            for title, _, get, write in columns
        ]
        rows.append((run, cells))
    return [(title, second) for title, second, _, _ in columns], rows


def _cell(
    write: Callable[[float | None], str], new: float | None, old: float | None, *, more_is_better: bool = False
) -> Cell:
    change = facts.change(new, old)
    better, worse = (facts.loses, facts.gains) if more_is_better else (facts.gains, facts.loses)
    sense = "better" if better(change) else "worse" if worse(change) else ""
    return Cell(write(new), "" if change is None else units.change(change), sense)


def _origin(study: TraceResults) -> list[tuple[str, str]]:
    """How the results came to be: version, trace digest, seeds."""
    rows = []
    runs = study.runs if isinstance(study, StudyFolder) else ()
    version = study.info.get("flashtwin") or next((run.summary.get("flashtwin") for run in runs), None)
    rows.append(("flashtwin", str(version) if version else "version not recorded"))
    for title, key in (("Trace", "name"), ("Trace format", "format"), ("Trace digest", "digest")):
        if study.trace.get(key):
            rows.append((title, str(study.trace[key])))
    if isinstance(study, StudyFolder):
        seeds = list(dict.fromkeys(str(run.summary.get("seed")) for run in runs if "seed" in run.summary))
        rows.append(("Seed", ", ".join(seeds) if seeds else "not recorded"))
        rows.append(("Baseline", study.baseline.label))
        if choices.was_made_equal(study):
            rows.append(("Ground", f"that of {study.baseline.label} for all systems (--equal-ground)"))
    rows += [("Also of the trace", text) for text in choices.minor_faults(study)]
    return rows
