"""Shared by `replay` and `compare`: running systems, and showing their figures side by side."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import click

from flashtwin.cli._options import ReplayOptions
from flashtwin.cli._progress import Bars
from flashtwin.cli._talk import data, data_json, say, table
from flashtwin.replays.folders import replay_into, without_contents
from flashtwin.replays.presets import System, warn_of_ignored
from flashtwin.replays.running import name_systems, replay, side_by_side
from flashtwin.replays.timelines import Timeline
from flashtwin.results import folder, ground, names, schema
from flashtwin.results.documents import read_json
from flashtwin.results.trees import dig
from flashtwin.traces.reading import Source
from flashtwin.units import duration

Summary = Mapping[str, Any]

#: The figures shown: label with unit, where it stands in the summary, how it is written. A trace without flushes
#: is shown without theirs.
FIGURES: tuple[tuple[str, str, Callable[[float], str]], ...] = (
    ("mean response, us", "response.all.mean_ns", lambda ns: f"{ns / 1e3:,.1f}"),
    ("  reads", "response.read.mean_ns", lambda ns: f"{ns / 1e3:,.1f}"),
    ("  writes", "response.write.mean_ns", lambda ns: f"{ns / 1e3:,.1f}"),
    ("p99 of reads, us", "response.read.p99_ns", lambda ns: f"{ns / 1e3:,.1f}"),
    ("  p99.9", "response.read.p99_9_ns", lambda ns: f"{ns / 1e3:,.1f}"),
    ("p99 of writes, us", "response.write.p99_ns", lambda ns: f"{ns / 1e3:,.1f}"),
    ("  p99.9", "response.write.p99_9_ns", lambda ns: f"{ns / 1e3:,.1f}"),
    ("mean flush, us", "response.flush.mean_ns", lambda ns: f"{ns / 1e3:,.1f}"),
    ("  p99", "response.flush.p99_ns", lambda ns: f"{ns / 1e3:,.1f}"),
    ("  p99.9", "response.flush.p99_9_ns", lambda ns: f"{ns / 1e3:,.1f}"),
    ("IOPS", "throughput.all.iops", lambda rate: f"{rate:,.1f}"),
    ("  reads", "throughput.read.iops", lambda rate: f"{rate:,.1f}"),
    ("  writes", "throughput.write.iops", lambda rate: f"{rate:,.1f}"),
    ("  flushes", "throughput.flushes_per_s", lambda rate: f"{rate:,.1f}"),
    ("MB/s", "throughput.all.mb_per_s", lambda rate: f"{rate:,.2f}"),
    ("  reads", "throughput.read.mb_per_s", lambda rate: f"{rate:,.2f}"),
    ("  writes", "throughput.write.mb_per_s", lambda rate: f"{rate:,.2f}"),
    ("duplicate page writes", "page_ops.duplicate_writes", lambda n: f"{n:,}"),
    ("redirected page reads", "page_ops.redirected_reads", lambda n: f"{n:,}"),
    ("pages programmed", "pages_programmed", lambda n: f"{n:,}"),
    ("  replicas among them", "flash_writes.replica", lambda n: f"{n:,}"),
    ("write amplification", "write_amplification", lambda ratio: f"{ratio:.3f}"),
    ("erases", "erases.total", lambda n: f"{n:,}"),
    ("requests completed", "requests.completed", lambda n: f"{n:,}"),
)


def choose(
    running: ReplayOptions, systems: Sequence[str], *, equal_ground: bool = False, by_all: bool = False
) -> dict[str, System]:
    """The systems with their keys set; prints differences beyond the mechanisms, and keys that are not looked at."""
    chosen = name_systems([running.system(name) for name in systems], {}, equal_ground=equal_ground)
    warm_ups: dict[float, list[str]] = {}
    for name, system in chosen.items():
        warm_ups.setdefault(system.config["replay"]["warm_up_s"], []).append(name)
    for warm_up_s, together in warm_ups.items():
        if warm_up_s:
            say(f"{', '.join(together)}: figures count from {duration(warm_up_s * 1e9)} of the trace on")
    warn_of_ignored(chosen.items(), [key for key, _ in running.set], by_all=by_all)
    unequal = ground.ground({name: system.config for name, system in chosen.items()})
    lines = [f"  {one.line}" for one in unequal if one.warns]
    quiet = [one.key for one in unequal if not one.warns]
    if lines:
        say("These systems differ in more than what defines them; each of these moves reads or writes by itself:")
        say("\n".join(lines))
    if quiet:
        say(f"They also differ in {', '.join(quiet)}.")
    if lines and not equal_ground:
        say(f"--equal-ground gives all of them that of {next(iter(chosen))}.")
    return chosen


def replay_all(
    source: Source,
    running: ReplayOptions,
    chosen: Mapping[str, System],
    out: Path | None,
    *,
    stream: bool,
    equal_ground: bool = False,
    any_systems: bool = False,
    per_request: bool = False,
    timeline: Timeline | None = None,
) -> dict[str, Summary]:
    """Replays the trace on the systems; returns their summaries, and leaves results in `out` if asked to.

    Of systems that nobody named (`any_systems`), a trace without contents leaves out what looks at contents. A timeline
    is that of a single system.
    """
    if out is None and per_request:
        raise click.UsageError("--per-request writes a table; say with --out where to")
    with folder.prepared(out) if out is not None else nullcontext() as path:
        with Bars() as bars:
            trace = source.to_replay(stream=stream, progress=bars.job, notify=say)
            systems = without_contents(trace, chosen, say) if any_systems else chosen
            suitable = running.fitted(trace, systems, bars.job)
            if path is not None:
                replay_into(
                    path, trace, suitable, running.threads, bars.job, say,
                    equal_ground=equal_ground, per_request=per_request, timeline=timeline,
                )  # fmt: skip
                summaries = {name: read_json(names.run(path, name) / names.SUMMARY) for name in suitable}
            elif timeline is not None:
                summaries = {name: replay(
                    trace, system, progress=bars.job, timeline=timeline.path, timeline_from_s=timeline.from_s,
                    timeline_to_s=timeline.to_s,
                ).summary for name, system in suitable.items()}  # fmt: skip
            else:
                results = side_by_side(trace, suitable, running.threads, bars.job, informed=trace.has_content)
                summaries = {name: result.summary for name, result in results.items()}
            # Asked for before the replays, these numbers would not be worked out beside them.
            if trace.has_content:
                info = read_json(path / names.STUDY)["trace"] if path is not None else trace.info
                if zeroes := ground.zeroes(info, {name: system.config for name, system in suitable.items()}):
                    say(zeroes)
        if path is not None:
            say(f"results: {path}")
        if timeline is not None:
            say(f"timeline: {timeline.path}; open it at https://ui.perfetto.dev")
        return summaries


def show(summaries: Mapping[str, Summary], *, as_json: bool) -> None:
    if as_json:
        data_json(_with_ground(summaries))
        return
    flushed = any(dig(summary, schema.summary_field("requests.flush")) for summary in summaries.values())
    shown = [figure for figure in FIGURES if flushed or "flush" not in figure[1]]
    rows = [[label, *(cell(summary, path, write) for summary in summaries.values())] for label, path, write in shown]
    data(table(["", *summaries], rows))


def _with_ground(summaries: Mapping[str, Summary]) -> dict[str, Summary]:
    if len(summaries) < 2:
        return dict(summaries)
    unequal = ground.ground({name: summary["config"] for name, summary in summaries.items()})
    return {
        name: {**summary, "ground": [one.as_json() for one in unequal if name in one.values]}
        for name, summary in summaries.items()
    }


def cell(summary: Summary, path: str, write: Callable[[float], str]) -> str:
    value = dig(summary, schema.summary_field(path))
    return "-" if value is None else write(value)
