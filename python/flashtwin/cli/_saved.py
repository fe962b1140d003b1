"""Saved results side by side: differing settings first, then their figures with the first as baseline."""

from collections.abc import Sequence
from pathlib import Path

import click
from click.core import ParameterSource

from flashtwin.cli._replaying import FIGURES, cell
from flashtwin.cli._talk import data, data_json, say, table
from flashtwin.results import folder, ground, identity, schema, together
from flashtwin.results.trees import dig, literal

#: Options that apply to saved results; all others are about replays, which are over.
_APPLIES = frozenset({"paths", "out", "json", "across_traces"})


def refuse_options(ctx: click.Context) -> None:
    for option in ctx.command.params:
        name = option.name or ""
        if name not in _APPLIES and ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            raise click.UsageError(f"{option.opts[0]} is for replaying a trace; these are results that are there", ctx)


def show(runs: Sequence[together.SavedResult], *, across_traces: bool, as_json: bool) -> None:
    warnings = together.warnings(runs, folder.VERSION)
    comparable = across_traces or together.same_trace(runs)
    if not comparable:
        warnings.append("No change in percent is given between different traces; --across-traces gives it.")
    for warning in warnings:
        say(f"warning: {warning}")
    differences = together.differences(runs)
    if as_json:
        data_json({
            "warnings": warnings,
            "differences": [one.as_json() for one in differences],
            "runs": [{**run.as_json(), "summary": dict(run.summary)} for run in runs],
        })  # fmt: skip
        return
    data(_settings(runs, differences))
    data("")
    data(_figures(runs, comparable=comparable))


def _settings(runs: Sequence[together.SavedResult], differences: Sequence[ground.Difference]) -> str:
    rows = [
        [one.key, *(literal(one.values[run.label]) if run.label in one.values else "-" for run in runs)]
        for one in differences
    ]
    if not together.same_trace(runs):
        rows.insert(0, ["trace", *(identity.trace_name(run.summary) for run in runs)])
    if not rows:
        return "All settings are the same."
    return table(["what differs", *(run.label for run in runs)], rows)


def _figures(runs: Sequence[together.SavedResult], *, comparable: bool) -> str:
    first = runs[0].summary
    rows = []
    for label, path, write in FIGURES:
        cells = []
        for place, run in enumerate(runs):
            text = cell(run.summary, path, write)
            change = _change(run.summary, first, path) if place and comparable else None
            cells.append(text if change is None else f"{text} ({change:+.1f} %)")
        rows.append([label, *cells])
    return table(["figures", *(run.label for run in runs)], rows)


def _change(summary: identity.Summary, first: identity.Summary, path: str) -> float | None:
    """By how much a figure differs from the first run's, in percent of that; None where that is nothing."""
    value, before = (dig(one, schema.summary_field(path)) for one in (summary, first))
    if value is None or not before:
        return None
    return (float(value) / float(before) - 1.0) * 100.0


def default_out(paths: Sequence[Path]) -> Path:
    """The default folder of a report of several results: in the current folder, named after them."""
    first, second, *more = [path.resolve().name for path in paths]
    return Path(f"{first}-vs-{second}" + (f"-and-{len(more)}-more" if more else ""))
