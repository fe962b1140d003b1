"""One HTML page of findings, tables and charts. It needs no other file; its security policy allows no request."""

import base64
import hashlib
import html
import re
from collections.abc import Sequence
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from flashtwin import units
from flashtwin.judgement import judging
from flashtwin.judgement.evidence import Evidence
from flashtwin.judgement.goals import goal_of
from flashtwin.judgement.verdict import CHOICE, Verdict
from flashtwin.results.reading import Collection, StudyFolder, TraceResults, load_any
from flashtwin.results.trees import as_number, dig, leaves

from . import choices, colours, tables
from .charts import ACROSS_CHARTS, CHARTS, WORKLOAD_CHARTS
from .charts.workload import table_of_facts
from .declared import Chart
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


def load(folder: Path | str) -> TraceResults | Collection:
    """The results of a folder; of a study with candidates these, because they are what anyone recommends."""
    found = load_any(folder)
    return found.at_their_best if isinstance(found, StudyFolder) else found


def charts(results: TraceResults | Collection) -> list[Chart[Any]]:
    """The charts of the page: those of bottlenecks and candidates only where these were looked for."""
    if isinstance(results, Collection):
        return list(ACROSS_CHARTS.values())
    # Without a characterization nothing but the brief is known of the workload; one sentence says so.
    of_workload = list(WORKLOAD_CHARTS.values()) if results.characterization else [WORKLOAD_CHARTS["workload"]]
    if not isinstance(results, StudyFolder):
        return of_workload
    absent = {"causes"} if not results.explained else set()
    absent |= {"candidates"} if not results.candidates else set()
    return [*of_workload, *(chart for name, chart in CHARTS.items() if name not in absent)]


def page(results: TraceResults | Collection, rendered: Sequence[RenderedChart]) -> str:
    of = Evidence.of(results) if isinstance(results, TraceResults) else Evidence()
    verdicts = judging.judge(of) if isinstance(results, TraceResults) else []
    values = _of_collection(results) if isinstance(results, Collection) else _of_trace(results, verdicts)
    values |= _of_study(results, of, verdicts) if isinstance(results, StudyFolder) else _NO_STUDY
    figures: dict[str, list[dict[str, Any]]] = {}
    for one in rendered:
        figures.setdefault(one.chart.section, []).append(figure_of(one))
    return filled(
        "page.html.j2",
        sections=[
            (key, name, figures[key]) for key, name in values.pop("parts") if key in figures and key != "verdict"
        ],
        first_figures=figures.get("verdict", []),
        script=Markup(_resource("page.js")),  # noqa: S704 - our own file
        script_hash=script_hash(),
        verdict=judging.on(CHOICE, verdicts),
        **values,
    )


def _of_study(study: StudyFolder, of: Evidence, verdicts: Sequence[Verdict]) -> dict[str, Any]:
    columns, rows = tables.systems(study)
    return {
        "study": study,
        "ground": judging.ground(of),
        "grounds": study.grounds,
        "findings": judging.findings(verdicts, 3),
        "columns": columns,
        "rows": rows,
        **tables.candidates(of),
        "place_of": {name: colours.PAGE_PAIRS.index(pair) for name, pair in colours.pairs_of_runs(study).items()},
        "limits": [(run, study.explained[run.name]) for run in study.runs if run.name in study.explained],
        # Candidates stand on one ground: in what else they differ was chosen.
        "unequal": [] if study.candidates.get("shown") else choices.unequal_ground(study),
        "gathered": choices.gathered(study),
        "made_equal": choices.was_made_equal(study),
        "differences": choices.differences(study),
        "settings": [(run.label, choices.settings(run)) for run in study.runs],
    }


#: The template looks at these before it looks at a study.
_NO_STUDY: dict[str, Any] = dict.fromkeys(("study", "limits", "unequal", "gathered", "differences", "grounds"), ())


def _of_trace(results: TraceResults, verdicts: Sequence[Verdict]) -> dict[str, Any]:
    replayed = isinstance(results, StudyFolder)
    options = results.characterization.get("options")
    return {
        "kicker": "Trace replay report" if replayed else "Workload report",
        "parts": SECTIONS if replayed else WORKLOAD_SECTIONS,
        "title": str(results.trace.get("name") or results.folder.resolve().name),
        "facts_line": _facts_line(results),
        "workload_facts": table_of_facts(results),
        "advice": judging.advice(list(verdicts)) if results.characterization else [],
        "warnings": [
            *choices.warnings(results),
            *(one.claim for one in verdicts if (one.topic, one.answer) == ("load", "overloaded")),
        ],
        "origin": _origin(results),
        "settings": [("the characterization", [(key, str(value)) for key, value in leaves(options)])]
        if isinstance(options, dict)
        else [],
        "failures": [],
        "traces": [],
    }


def _of_collection(results: Collection) -> dict[str, Any]:
    counts = results.info.get("counts")
    number = counts if isinstance(counts, dict) else {}
    labels = (
        ("traces", "Traces characterized"),
        ("large_enough", "Large enough for any statistic (10,000 requests, 5,000 writes)"),
        ("write_amplification", "In the statistics of write amplification (100,000 page writes, 4 of each sector)"),
        ("read_amplification", "In the statistics of reading (5,000 reads)"),
    )
    rows = [(label, units.count(as_number(number[key]))) for key, label in labels if key in number]
    rows.append(("Could not be characterized", units.count(len(results.failures))))
    return {
        "kicker": "Workloads report",
        "parts": ACROSS_SECTIONS,
        "title": results.folder.resolve().name,
        "facts_line": f"{units.count(as_number(number.get('traces', 0)))} traces",
        "workload_facts": rows,
        "failures": results.failures,
        "traces": tables.traces(results),
        "trace_columns": tables.TRACE_COLUMNS,
        "origin": [("flashtwin", str(results.info.get("flashtwin") or "version not recorded"))],
        "advice": [],
        "warnings": [],
        "settings": [],
    }


@lru_cache(maxsize=3)
def _template(name: str) -> jinja2.Template:
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["prose"] = _prose
    environment.filters["duration"] = units.duration
    environment.filters["percent"] = units.percent
    environment.filters["change"] = units.change
    environment.filters["goal"] = lambda value, name: goal_of(name).written(value)
    return environment.from_string(_resource(name))


def filled(template: str, **values: Any) -> str:
    style = Markup(_resource("page.css"))  # noqa: S704 - our own file
    return _template(template).render(pairs=colours.PAGE_PAIRS, css=style, **values)


def script_hash() -> str:
    """By which the page's content security policy allows its script, and no other."""
    return f"sha256-{base64.b64encode(hashlib.sha256(_resource('page.js').encode()).digest()).decode()}"


def _resource(name: str) -> str:
    return (resources.files(__package__) / name).read_text(encoding="utf-8")


def _prose(text: str) -> Markup:
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
        parts.append(units.plural(len(study.runs), "system"))
        parts += _pace(study)
    return " · ".join(parts)


def _pace(study: StudyFolder) -> list[str]:
    depths = {depth for run in study.runs if (depth := as_number(run.setting("replay.queue_depth")))}
    speeds = {speed for run in study.runs if (speed := as_number(run.setting("replay.speed"))) not in (None, 1.0)}
    if depths:
        return [
            f"closed loop, {units.names_plain([units.count(depth) for depth in sorted(depths)])} requests under way"
        ]
    return [f"replayed {units.names_plain([f'{speed:g}' for speed in sorted(speeds)])} times as fast"] if speeds else []


def _origin(study: TraceResults) -> list[tuple[str, str]]:
    rows = []
    runs = study.runs if isinstance(study, StudyFolder) else ()
    version = study.info.get("flashtwin") or next((run.summary.get("flashtwin") for run in runs), None)
    rows.append(("flashtwin", str(version) if version else "version not recorded"))
    for title, key in (("Trace", "name"), ("Trace digest", "digest")):
        if study.trace.get(key):
            rows.append((title, str(study.trace[key])))
    if read_as := dig(study.trace, "read_as.text"):
        rows.append(("Read as", str(read_as)))
    if isinstance(study, StudyFolder):
        seeds = list(dict.fromkeys(str(run.summary.get("seed")) for run in runs if "seed" in run.summary))
        rows.append(("Seed", ", ".join(seeds) if seeds else "not recorded"))
        rows.append(("Baseline", study.baseline.label))
        if choices.was_made_equal(study):
            rows.append(("Ground", f"that of {study.baseline.label} for all systems (--equal-ground)"))
        if zeroes := choices.zeroes(study):
            rows.append(("Zeroes", zeroes))
    rows += [("Also of the trace", text) for text in choices.minor_faults(study)]
    return rows
