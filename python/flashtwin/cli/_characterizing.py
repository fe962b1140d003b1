"""Shared by `characterize` and `advise`: options of the metrics, and printing the most telling numbers."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, cast

import click

from flashtwin.characterization.measuring import Characterization, Options, options_from_text
from flashtwin.cli._options import Command, Duration, KeyValue, how_to_read, taken_reading
from flashtwin.cli._talk import data, data_json, pairs, say, table
from flashtwin.results import folder
from flashtwin.results.rows import ENTRIES
from flashtwin.sweeps.batch import Batch
from flashtwin.traces.reading import Reading, Source


@dataclass(frozen=True)
class MeasuringOptions:
    """Options of reading traces and of the metrics."""

    options: Options
    reading: Reading
    stream: bool

    @property
    def is_asked_for(self) -> bool:
        """Whether anything is to be done otherwise than by default."""
        return self.stream or self.reading != Reading() or self.options != options_from_text([], threads=0)

    def stem(self, path: str) -> str:
        """The trace's name without folder and endings, the volume's, and the span of time."""
        return Source(path, self.reading).stem

    def key(self, path: str, *, by_volume: bool) -> str:
        """Names all that the result of a single trace depends on."""
        file = Path(path)
        status = file.stat() if path != "-" and file.is_file() else None
        made_from = [status.st_size, status.st_mtime_ns] if status is not None else [None]
        return folder.characterization_key(
            file.name, *made_from, self.options.key, asdict(self.reading), self.stream, by_volume
        )  # fmt: skip


class Numbers(click.ParamType[tuple[int, ...]]):
    """Whole numbers from 1 up, separated by commas: `1,4,8`."""

    name = "numbers"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, ...]:
        """Reads the text."""
        if isinstance(value, tuple):
            return value
        parts = str(value).split(",")
        if not all(part.strip().isdecimal() and int(part) > 0 for part in parts):
            self.fail(f"'{value}' is not a list of whole numbers from 1 up, such as 1,4,8", param, ctx)
        return tuple(map(int, parts))


class PageSize(click.ParamType[int]):
    """Bytes, a power of two from 512 up: `4096` or `4K`."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Reads the text."""
        parts = re.fullmatch(r"(\d+)([kK]?)", str(value).strip())
        size = int(parts[1]) * (1024 if parts[2] else 1) if parts else 0
        if size < 512 or size & (size - 1):
            self.fail(f"'{value}' is not a page size, a power of two from 512 up, such as 4096 or 4K", param, ctx)
        return size


#: Options of the characterization that have a flag of their own.
KEYS = {
    "period": "period_s",
    "sample": "sample_rate",
    "sample_seed": "sample_seed",
    "direction": "locality.direction",
    "page_bytes": "wa.page_bytes",
    "partitions": "wa.partitions",
    "op": "wa.over_provisioning_percent",
    "block_pages": "wa.block_pages",
}


def measuring_options(command: Command) -> Command:
    """Options of reading and of the metrics; the verb gets `measuring`."""
    options: tuple[Any, ...] = (
        *how_to_read(),
        click.option(
            "--set",
            "sets",
            multiple=True,
            type=KeyValue(),
            help="Set an option of docs/configuration.md; repeatable. Example: --set frequency_ratios=2,3",
        ),
        click.option(
            "--period", type=Duration(), metavar="TIME", help="Period length. Example: --period 1h  [default: 1d]"
        ),
        click.option("--stream", is_flag=True, help="Read the file several times, in bounded memory."),
        click.option(
            "--sample",
            type=click.FloatRange(min=0, max=1, min_open=True),
            metavar="RATE",
            help="Sample this share of pages and contents by hash; errors are stated. Example: --sample 0.01",
        ),
        click.option(
            "--sample-seed", type=click.IntRange(min=0), metavar="N", help="Seed of --sample. Example: --sample-seed 7"
        ),
        click.option(
            "--direction",
            type=click.Choice(["forward", "backward"]),
            help="Logical locality: look for later requests, or for earlier ones. Example: --direction backward",
        ),
        click.option(
            "--page-bytes",
            type=PageSize(),
            metavar="SIZE",
            help="Page size of the write-amplification grid. Example: --page-bytes 16K  [default: 4K]",
        ),
        click.option(
            "--partitions",
            type=Numbers(),
            metavar="A,B,...",
            help="Partitions in the grid. Example: --partitions 1,8  [default: 1,2,4,8,12,16,24]",
        ),
        click.option(
            "--op",
            type=Numbers(),
            metavar="A,B,...",
            help="Over-provisioning in the grid, percent. Example: --op 7,28  [default: 7,28,50]",
        ),
        click.option(
            "--block-pages",
            type=Numbers(),
            metavar="A,B,...",
            help="Pages per block in the grid. Example: --block-pages 64,256  [default: 128]",
        ),
    )

    @functools.wraps(command)
    def gathered(**arguments: Any) -> Any:
        arguments["measuring"] = _gather(arguments)
        return command(**arguments)

    wrapped: Any = gathered
    for option in reversed(options):
        wrapped = option(wrapped)
    return cast("Command", wrapped)


def _gather(arguments: dict[str, Any]) -> MeasuringOptions:
    reading = taken_reading(arguments)
    short = [(key, arguments.pop(flag)) for flag, key in KEYS.items()]
    sets = [*arguments.pop("sets"), *((key, _literal(value)) for key, value in short if value is not None)]
    options = options_from_text(sets, threads=0)
    return MeasuringOptions(options, reading, arguments.pop("stream"))


def _literal(value: object) -> str:
    """As TOML writes it."""
    return str(list(value)) if isinstance(value, tuple) else str(value)


#: The figures shown: label, key of the row, how it is written, and a short label for the table of many traces.
_FIGURES: tuple[tuple[str, str, Callable[[Any], str], str], ...] = (
    ("requests", "info.requests", lambda n: f"{n:,}", "requests"),
    ("  writes among them", "info.writes", lambda n: f"{n:,}", "writes"),
    ("duplicates among page writes, %", "info.duplicate_write_percent", lambda p: f"{p:.1f}", "duplicate %"),
    ("fingerprints for 90 % of the repeats", ENTRIES, lambda n: f"{n:,}", ""),
    ("reads of what was popular before, %", "drift.popular_before_percent", lambda p: f"{p:.1f}", "popular %"),
    ("partitions for f_r <= 2", "partitions_fr2", lambda n: f"{n:,}", ""),
    ("partitions for f_r <= 3", "partitions_fr3", lambda n: f"{n:,}", "partitions"),
    ("write amplification, OP 7 %, 1 partition", "wa_partitions_1", lambda r: f"{r:.3f}", "WA 1"),
    ("  with those for f_r <= 3", "wa_fr3", lambda r: f"{r:.3f}", "WA f_r<=3"),
    ("read amplification, 4 KB pages", "ra_4096", lambda r: f"{r:.3f}", ""),
    ("read amplification, 16 KB pages", "ra_16384", lambda r: f"{r:.3f}", "RA 16K"),
    ("gain of waiting, writes within 64 pages", "write_gain_of_waiting", lambda r: f"{r:.3f}", ""),
    ("gain of distance, writes within 250 requests", "write_gain_of_distance", lambda r: f"{r:.3f}", ""),
)


def show(found: Characterization, report: Path | None, *, as_json: bool) -> None:
    """Prints one characterization: everything as JSON, or the most telling numbers."""
    if as_json:
        page = {} if report is None else {"report": str(report)}
        volumes = {"volumes": {name: _json(volume) for name, volume in found.volumes.items()}} if found.volumes else {}
        data_json({**_json(found), **volumes, **page})
        return
    data(pairs([(label, _cell(found.row, key, write)) for label, key, write, _ in _FIGURES]))
    if found.volumes:
        data(_table("volume", {name: volume.row for name, volume in found.volumes.items()}))
    if report is not None:
        data(f"report: {report}")


def show_batch(done: Batch, *, as_json: bool) -> None:
    """Prints many characterizations: a row each, how many enter which statistic, and failures."""
    if as_json:
        failures = [asdict(failure) for failure in done.failures]
        data_json(
            {"traces": done.rows, "counts": done.counts, "failures": failures, "report": str(done.report or "") or None}
        )
    elif done.report is None:
        data(f"{len(done.traces)} traces of this part")
        say(f"when all parts have ended, the same without --shard writes statistics and page into {done.path}")
    else:
        if done.rows:
            data(_table("trace", {str(row["trace"]): row for row in done.rows}))
        counts = done.counts
        data(
            f"{counts['traces']} traces; {counts['large_enough']} large enough for statistics, of these "
            f"{counts['write_amplification']} for write and {counts['read_amplification']} for read amplification"
        )
        data(f"report: {done.report}")
    _complain([(failure.trace, failure.message) for failure in done.failures])


def _json(found: Characterization) -> dict[str, Any]:
    """Everything about a trace for machines."""
    return {**found.summary, "row": found.row, "advice": [entry.as_json() for entry in found.advice]}


def _table(what: str, rows: dict[str, dict[str, Any]]) -> str:
    """A row each of traces or volumes."""
    shown = [(short, key, write) for _, key, write, short in _FIGURES if short]
    body = [[name, *(_cell(row, key, write) for _, key, write in shown)] for name, row in rows.items()]
    return table([what, *(short for short, _, _ in shown)], body)


def _complain(failures: Sequence[tuple[str, str]]) -> None:
    for trace, message in failures:
        say(f"not characterized: {trace}: {message}")


def _cell(row: dict[str, Any], key: str, write: Callable[[Any], str]) -> str:
    value = row.get(key)
    return "-" if value is None else write(value)
