"""Options that several verbs share, and their translation for the core."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar, cast

import click

from flashtwin.cli._talk import say
from flashtwin.progress import Progress
from flashtwin.replays.presets import System, resolve_text
from flashtwin.replays.running import fitted
from flashtwin.replays.timelines import wanted
from flashtwin.results import together
from flashtwin.results.keys import K
from flashtwin.traces.reading import Reading, Source
from flashtwin.traces.scan import Replayable

Command = TypeVar("Command", bound=Callable[..., Any])

#: Keys of the configuration that have a flag of their own.
KEYS = {
    "speed": K.replay.speed,
    "queue_depth": K.replay.queue_depth,
    "period": K.replay.period_s,
    "content": K.replay.content,
    "verify": "verify",
}

_THOUSANDS = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9}
_UNITS = {"": 1.0, "s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0}


class Duration(click.ParamType[float]):
    """A length of time in seconds: `120`, `120s`, `30min`, `1h`, `1d`, `1w`."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Reads the text."""
        if isinstance(value, float):
            return value
        parts = re.fullmatch(r"(\d+(?:\.\d+)?)([a-z]*)", str(value).strip())
        if parts is None or parts[2] not in _UNITS or float(parts[1]) == 0:
            self.fail(f"'{value}' is not a length of time; write it like 120s, 30min, 1h, 1d or 1w", param, ctx)
        return float(parts[1]) * _UNITS[parts[2]]


class Durations(click.ParamType[str]):
    """Lengths of time between commas, as seconds between commas."""

    name = "durations"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Reads the text."""
        found = (Duration().convert(one, param, ctx) for one in str(value).split(","))
        return ",".join(f"{seconds:g}" for seconds in found)


class Effort(click.ParamType[int | None]):
    """Page operations: `50M`, `200k`, `2G`, a plain number; 0 is none, `all` (None) as many as it takes."""

    name = "effort"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int | None:
        """Reads the text."""
        text = str(value).strip()
        if text == "all":
            return None
        parts = re.fullmatch(r"(\d+(?:\.\d+)?)([kMG]?)", text)
        if parts is None:
            is_time = re.fullmatch(r"[\d.]+(s|m|min|h)", text)
            more = ", not in time, so that a busy machine gives the same answer" if is_time else ""
            self.fail(
                f"'{value}' is no effort: it counts page operations{more}; write it like 50M, 2G or all", param, ctx
            )
        return round(float(parts[1]) * _THOUSANDS[parts[2]])


class Share(click.ParamType[float]):
    """A share: `90%` or `0.9`."""

    name = "share"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Reads the text."""
        found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(%?)", str(value).strip())
        share = float(found[1]) / (100 if found[2] else 1) if found else 0.0
        if not 0 < share <= 1:
            self.fail(f"'{value}' is not a share above 0 and up to 100 %; write it like 90% or 0.9", param, ctx)
        return share


class KeyValue(click.ParamType[tuple[str, str]]):
    """`key=value`."""

    name = "key=value"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, str]:
        """Cuts the text at its first equals sign."""
        key, equals, literal = str(value).partition("=")
        if not equals or not key.strip() or not literal.strip():
            self.fail(f"'{value}' is not of the form key=value, such as replication.alpha=0.2", param, ctx)
        return key.strip(), literal.strip()


@dataclass(frozen=True)
class ReplayOptions:
    """How to replay it."""

    threads: int
    sets: list[tuple[str, str]]
    #: The share of the drive that the trace is to take up; None: the drive is as large as it is.
    fill: float | None = None

    def system(self, name: str) -> System:
        """A system with the keys set as asked for."""
        return resolve_text(name, self.sets)

    def fitted(
        self, trace: Replayable, systems: Mapping[str, System], progress: Progress | None = None
    ) -> dict[str, System]:
        """The systems with the periods that suit the trace, on drives that it fills as asked for."""
        return fitted(trace, systems, self.fill, say, progress)


def reading_options(command: Command) -> Command:
    """TRACE and how to read it; the verb gets `source`."""
    return _wrapped(command, (click.argument("path", metavar="TRACE"), *how_to_read()), _to_source)


def results_or_trace_options(command: Command) -> Command:
    """TRACE and how to read it, or several saved RESULTs; the verb gets `source` and `results`, one of them None."""
    argument = click.argument("paths", metavar="TRACE | RESULT...", nargs=-1, required=True)
    return _wrapped(command, (argument, *how_to_read()), _to_source_or_results)


def files_options(command: Command) -> Command:
    """How to read each of several files; `taken_reading` gathers it."""
    for option in reversed(how_to_read()):
        command = option(command)
    return command


def how_to_read() -> tuple[Any, ...]:
    """--format, --on-bad-line, --sort-window, --blkparse-action, --volume, --from, --to."""
    format_ = click.option(
        "--format", "format_", metavar="NAME", help="Trace format, if it cannot be detected. Example: --format msr"
    )
    bad = click.option(
        "--on-bad-line",
        type=click.Choice(["fail", "skip"]),
        default="fail",
        show_default=True,
        help="Stop at an unreadable line, or skip and count it. Example: --on-bad-line skip",
    )
    window = click.option(
        "--sort-window",
        type=Duration(),
        metavar="TIME",
        default="1s",
        show_default=True,
        help="Sort requests that come up to this late; later ones are an error. Example: --sort-window 10s",
    )
    action = click.option(
        "--blkparse-action",
        type=click.Choice(["Q", "D", "C"]),
        default="D",
        show_default=True,
        help="blkparse text: take the time a request is queued (Q), issued (D) or completed (C). "
        "Example: --blkparse-action Q",
    )
    volume = click.option("--volume", metavar="NAME", help="Read only this volume. Example: --volume 3")
    begin = click.option(
        "--from",
        "from_s",
        type=Duration(),
        metavar="TIME",
        help="Start this long after the first request. Example: --from 2h",
    )
    end = click.option(
        "--to",
        "to_s",
        type=Duration(),
        metavar="TIME",
        help="Stop this long after the first request. Example: --to 1d",
    )
    return format_, bad, window, action, volume, begin, end


def at_least_one(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    """Depths of a queue as text, between commas; none of them 0, which the key has for the recorded times."""
    if value is not None and any(re.fullmatch(r"\s*0+\s*", depth) for depth in value.split(",")):
        raise click.BadParameter(
            "0 requests under way are none; name 1 or more, or leave the option out to keep the recorded times",
            ctx, param,
        )  # fmt: skip
    return value


set_option = click.option(
    "--set",
    "sets",
    multiple=True,
    type=KeyValue(),
    metavar="KEY=VALUE",
    help="Set a configuration key; repeatable. Example: --set replication.alpha=0.2",
)


def running_options(command: Command) -> Command:
    """--set and its short forms, --content, --threads; the verb gets `running`."""
    options = (
        set_option,
        click.option(
            "--period",
            type=Duration(),
            metavar="TIME",
            help="Period length; popular contents are copied when one ends. Traces under 3 days get about 8 periods "
            "of a round length, such as 15 min for 2 h. Example: --period 1h  [default: 1d]",
        ),
        click.option("--speed", metavar="X", help="Replay X times as fast as recorded. Example: --speed 10"),
        click.option(
            "--queue-depth",
            metavar="N",
            callback=at_least_one,
            help="Ignore recorded times; keep N requests outstanding. Example: --queue-depth 32",
        ),
        click.option(
            "--fill",
            type=Share(),
            metavar="SHARE",
            help="Shrink the drive until the trace fills this share of it, so that garbage collection runs. "
            "Example: --fill 90%  [default: the device's full size]",
        ),
        click.option(
            "--aged",
            is_flag=True,
            help="Age the drive first: overwrite the trace's pages at random until write amplification settles.",
        ),
        click.option(
            "--content",
            metavar="SOURCE",
            help="Page contents: recorded, unique (all writes differ), same-as-address, or zipf(A,N[,SEED]): N values "
            "with Zipf exponent A. Example: --content 'zipf(1.1,10000)'",
        ),
        click.option(
            "--verify",
            is_flag=True,
            default=None,
            help="Check each step against a reference model, and the tables against each other; slow.",
        ),
        click.option(
            "--threads",
            type=click.IntRange(min=0),
            metavar="N",
            default=0,
            help="Systems to replay at once; 0: one per core. Example: --threads 2",
        ),
    )
    return _wrapped(command, options, _to_running)


device_option = click.option(
    "--device",
    metavar="NAME",
    help="NAND device: a name of `flashtwin devices`, or a TOML file. Example: --device rr-ssd",
)

stream_option = click.option(
    "--stream",
    is_flag=True,
    help="Read the file again for each replay instead of keeping it in memory; same results. Automatic if the trace "
    "does not fit in memory.",
)


def out_option(text: str) -> Callable[[Command], Command]:
    """--out DIR."""
    return click.option("--out", type=click.Path(path_type=Path), metavar="DIR", help=text)


def systems_option(default: str) -> Callable[[Command], Command]:
    """--systems A,B,..."""
    return click.option(
        "--systems",
        default=default,
        show_default=True,
        callback=_split_names,
        metavar="A,B,...",
        help="Systems, by name or TOML file; the first is the baseline. Example: --systems conventional,rr-ssd",
    )


equal_ground_option = click.option(
    "--equal-ground",
    is_flag=True,
    help="Give all systems the baseline's device, engine, allocation, collection and replay keys, so that only their "
    "mechanisms differ.",
)

per_request_option = click.option(
    "--per-request",
    is_flag=True,
    help="Also write each request, with the parts of its response time, to the run's `requests.parquet`.",
)


def timeline_options(command: Command) -> Command:
    """--timeline, --timeline-from, --timeline-to; the verb gets `timeline`, None where it is not asked for."""
    options = (
        click.option(
            "--timeline",
            type=click.Path(path_type=Path),
            metavar="FILE",
            help="Also write a timeline of channels, dies, hash unit, garbage collection and requests; open it at "
            "https://ui.perfetto.dev. Example: --timeline run.pftrace",
        ),
        click.option(
            "--timeline-from",
            type=Duration(),
            metavar="TIME",
            help="Start the timeline at this time of the drive; with --speed 10, a tenth of the trace's. "
            "Example: --timeline-from 3s",
        ),
        click.option(
            "--timeline-to",
            type=Duration(),
            metavar="TIME",
            help="End the timeline at this time of the drive. Example: --timeline-to 4s",
        ),
    )
    return _wrapped(command, options, _to_timeline)


#: Seeds that the core takes as they are.
AT_LEAST_0 = click.IntRange(min=0)

force_option = click.option("--force", is_flag=True, help="Replace output files that exist.")

workers_option = click.option(
    "--workers",
    type=click.IntRange(min=0),
    metavar="N",
    default=0,
    help="Jobs to run at once; 0: one per core. Example: --workers 4",
)


def seed_option(default: int, kind: click.ParamType[int] = AT_LEAST_0) -> Callable[[Command], Command]:
    """--seed N, of any random choice."""
    return click.option(
        "--seed", type=kind, metavar="N", default=default, show_default=True,
        help="Seed of random choices. Example: --seed 7",
    )  # fmt: skip


def effort_option(default: str) -> Callable[[Command], Command]:
    """--effort N."""
    return click.option(
        "--effort",
        type=Effort(),
        metavar="N",
        default=default,
        show_default=True,
        help="Budget of extra replays, in page operations; 0: none, all: no limit. Example: --effort 1G",
    )


goal_option = click.option(
    "--goal",
    metavar="FIGURE",
    help="Figure to shorten, such as all.mean or write.max, or time for the whole trace. Example: --goal read.p99  "
    "[default: all.mean; time in a closed loop]",
)

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


def _split_names(ctx: click.Context, param: click.Parameter, value: str) -> list[str]:
    """`a,b,c` as a list, each once."""
    names = [name.strip() for name in value.split(",") if name.strip()]
    if not names:
        raise click.BadParameter("name at least one system", ctx, param)
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise click.BadParameter(f"system '{twice}' is named twice", ctx, param)
    return names


def _wrapped(command: Command, options: tuple[Any, ...], gather: Callable[[dict[str, Any]], None]) -> Command:
    """A verb whose shared options are gathered into one argument before it is called."""

    @functools.wraps(command)
    def gathered(**arguments: Any) -> Any:
        gather(arguments)
        return command(**arguments)

    wrapped: Any = gathered
    for option in reversed(options):
        wrapped = option(wrapped)
    return cast("Command", wrapped)


def _to_source(arguments: dict[str, Any]) -> None:
    arguments["source"] = Source(arguments.pop("path"), taken_reading(arguments))


def _to_source_or_results(arguments: dict[str, Any]) -> None:
    paths, reading = arguments.pop("paths"), taken_reading(arguments)
    saved = [Path(path) for path in paths if path != "-" and together.is_results(path)]
    if saved and len(saved) == len(paths):
        arguments.update(results=saved, source=None)
        return
    if len(paths) > 1:
        other = next(path for path in paths if Path(path) not in saved)
        raise click.UsageError(
            f"{other}: holds no results; several are compared only where all are results that were saved. Of one "
            "trace, --systems names what to replay it on"
        )
    arguments.update(results=None, source=Source(paths[0], reading))


def taken_reading(arguments: dict[str, Any]) -> Reading:
    """Removes the arguments of `how_to_read` from a verb's arguments, and returns them as one object."""
    return Reading(
        format=arguments.pop("format_"),
        on_bad_line=arguments.pop("on_bad_line"),
        sort_window_ns=round(arguments.pop("sort_window") * 1e9),
        blkparse_action=arguments.pop("blkparse_action"),
        volume=arguments.pop("volume"),
        from_s=arguments.pop("from_s"),
        to_s=arguments.pop("to_s"),
    )


def _to_running(arguments: dict[str, Any]) -> None:
    device = arguments.pop("device", None)
    sets = [*([("device", device)] if device else []), *arguments.pop("sets")]
    short = [(key, arguments.pop(flag)) for flag, key in KEYS.items()]
    sets += [(key, _literal(value)) for key, value in short if value is not None]
    if arguments.pop("aged"):
        sets.append((K.replay.preload, "footprint"))
    arguments["running"] = ReplayOptions(arguments.pop("threads"), sets, arguments.pop("fill"))


def _to_timeline(arguments: dict[str, Any]) -> None:
    path, from_s, to_s = (arguments.pop(name) for name in ("timeline", "timeline_from", "timeline_to"))
    if path is None and (from_s is not None or to_s is not None):
        flag = "--timeline-from" if from_s is not None else "--timeline-to"
        raise click.UsageError(
            f"{flag} says which part of a timeline is wanted; name its file with --timeline run.pftrace"
        )
    arguments["timeline"] = wanted(path, from_s, to_s)


def _literal(value: object) -> str:
    """As TOML writes it."""
    return str(value).lower() if isinstance(value, bool) else str(value)
