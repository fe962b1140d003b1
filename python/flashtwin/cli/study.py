"""`flashtwin study`: the main job, from a trace to a report."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

from flashtwin.causes.holding import OtherGrounds
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
from flashtwin.cli._types import Text, numbers, share_or_none, words
from flashtwin.judgement.choosing import WORTH
from flashtwin.replays.folders import SYSTEMS
from flashtwin.results import folder, ground
from flashtwin.studies import EFFORT, StudyQuestions, asked_for, run
from flashtwin.traces.reading import Reading, Source

_DEVICES = (
    "NAND devices, by name or TOML file; the choice is searched for on each. Example: --device rr-ssd,tlc-unit-2021"
)
Devices = Annotated[tuple[str, ...], Text(words), Shared(_DEVICES, "A[,B]")]
_WORTH = "Loss of the goal's figure that is taken for a lower price. Example: --worth 2%"
Worth = Annotated[float, Text(share_or_none, lambda worth: f"{worth * 100:g}%"), Shared(_WORTH, "SHARE")]
_PRICES = "TOML file of relative prices: flash_gib, ram_gib, protected_ram_gib, lane, die. Example: --prices mine.toml"
Prices = Annotated[Path, Shared(_PRICES, "FILE")]


_VARY = "Also replay the verdict with writes answered at another moment (engine.write_completes)."
VaryAcknowledgement = Annotated[bool, Shared(_VARY)]


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
    worth: Worth = WORTH,
    prices: Prices | None = None,
    effort: Effort | None = EFFORT,
    device: Devices | None = None,
    vary_acknowledgement: VaryAcknowledgement = False,
    report: Report = True,
    out: Path | None = None,
    json: Json = False,
) -> None:
    """Characterize TRACE, replay it on several systems, and report which to choose, why, and what it gives up.

    TRACE is a file in a format of docs/trace-formats.md, plain or compressed, or - for standard input. The same
    command with the same folder computes only missing results. Without page contents, only systems that ignore
    contents are replayed, unless you give `--content` or `--systems`. --effort allows at least five replays per system,
    to find its settings. With several devices, or speeds such as --speed 1,10,100, each is searched by itself, and a
    table says where the choice holds.

    \b
    Example:
      flashtwin study mail.fiu.zst --period 1d --out mail-study

    Args:
        out (DIR): Folder for results and report. Example: --out mail-study [default: the trace's name and -study]
    """
    question, source = asked_for(goal, worth, prices), Source(path, reading)
    speeds = () if running.speed is None else tuple(numbers(running.speed))
    running = running.on(device[0] if device else None)
    running = running if len(speeds) < 2 else replace(running, speed=f"{speeds[0]:g}")
    grounds = OtherGrounds(device or (), speeds)
    chosen = choose(running, systems, equal_ground=equal_ground, by_all=True)
    with folder.prepared(out or Path(f"{source.stem}-study")) as place, Bars() as bars:
        trace = source.to_replay(stream=stream, progress=bars.job, notify=say)
        asked = StudyQuestions(
            effort=effort, question=question, grounds=grounds, vary_acknowledgement=vary_acknowledgement,
            fill=running.fill, any_systems=is_default("systems"), equal_ground=equal_ground, per_request=per_request,
            threads=running.threads, report=report,
        )  # fmt: skip
        done, replayed = run(place, trace, chosen, asked, bars.job, say)
    unequal = ground.ground({name: system.config for name, system in replayed.items()})
    show_report(done.path, done.report, done.findings, unequal, done.limits, done.choice, as_json=json)
