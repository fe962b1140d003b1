"""`flashtwin study`: the main job, from a trace to a report."""

from pathlib import Path
from typing import Annotated

from flashtwin.causes.choosing import TODAY
from flashtwin.cli._bridge import Shared, is_default, verb
from flashtwin.cli._options import (
    Effort,
    EqualGround,
    Goal,
    Json,
    PerRequest,
    ReplayOptions,
    Report,
    Stream,
    Systems,
    TracePath,
)
from flashtwin.cli._progress import Bars
from flashtwin.cli._replaying import choose
from flashtwin.cli._talk import say, show_report
from flashtwin.cli._types import Text, words
from flashtwin.errors import ArgumentError
from flashtwin.replays.folders import SYSTEMS
from flashtwin.results import folder, ground
from flashtwin.studies import EFFORT, StudyQuestions, run
from flashtwin.traces.reading import Reading, Source


def _devices(text: str) -> tuple[str, ...]:
    """`a` or `a,b`."""
    names = words(text)
    if len(names) > 2:
        raise ArgumentError(f"'{text}' names {len(names)} drives; candidates are shown on two at most")
    return names


_DEVICES = (
    "NAND device, by name or TOML file, and a second one to show the candidates on. Example: --device "
    f"rr-ssd,{TODAY}  [default: the systems' own, and {TODAY}]"
)
Devices = Annotated[tuple[str, ...], Text(_devices), Shared(_DEVICES, "A[,B]")]


@verb()
def study(
    path: TracePath,
    *,
    reading: Reading,
    systems: Systems = SYSTEMS,
    equal_ground: EqualGround = False,
    running: ReplayOptions,
    per_request: PerRequest = False,
    stream: Stream = False,
    goal: Goal | None = None,
    effort: Effort | None = EFFORT,
    device: Devices | None = None,
    report: Report = True,
    out: Path | None = None,
    json: Json = False,
) -> None:
    """Characterize TRACE, replay it on several systems, and report which to choose and why.

    TRACE is a file in a format of docs/trace-formats.md, plain or compressed, or - for standard input. The same
    command with the same folder computes only missing results. Without page contents, only systems that ignore
    contents are replayed, unless you give `--content` or `--systems`. --effort allows at least six replays per system,
    to find its best settings and its bottleneck.

    \b
    Example:
      flashtwin study mail.fiu.zst --period 1d --out mail-study

    Args:
        out (DIR): Folder for results and report. Example: --out mail-study [default: the trace's name and -study]
    """
    source, (first, other, *_) = Source(path, reading), (*(device or ()), None, None)
    running = running.on(first)
    chosen = choose(running, systems, equal_ground=equal_ground)
    with folder.prepared(out or Path(f"{source.stem}-study")) as place, Bars() as bars:
        trace = source.to_replay(stream=stream, progress=bars.job, notify=say)
        asked = StudyQuestions(
            effort, goal, other, running.fill, is_default("systems"), equal_ground, per_request, running.threads,
            report,
        )  # fmt: skip
        done, replayed = run(place, trace, chosen, asked, bars.job, say)
    unequal = ground.ground({name: system.config for name, system in replayed.items()})
    show_report(done.path, done.report, done.findings, unequal, done.limits, done.choice, as_json=json)
