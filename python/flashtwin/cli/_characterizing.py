"""Shared by `characterize` and `advise`: options of the metrics, and printing the most telling numbers."""

import re
from collections.abc import Callable
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, Literal

import click

from flashtwin.characterization.measuring import Characterization, Options, options_from_text
from flashtwin.cli import _types
from flashtwin.cli._options import Sets
from flashtwin.cli._talk import data, data_json, pairs, say, show_page, table
from flashtwin.cli._types import Text
from flashtwin.errors import ArgumentError
from flashtwin.results import names
from flashtwin.results.rows import ENTRIES
from flashtwin.sweeps.batch import Batch


def numbers(text: str) -> list[int]:
    """Whole numbers from 1 up, separated by commas: `1,4,8`."""
    parts = text.split(",")
    if not all(part.strip().isdecimal() and int(part) > 0 for part in parts):
        raise ArgumentError(f"'{text}' is not a list of whole numbers from 1 up, such as 1,4,8")
    return [int(part) for part in parts]


def page_size(text: str) -> int:
    """Bytes, a power of two from 512 up: `4096` or `4K`."""
    size = _types.byte_count(text) if re.fullmatch(r"\d+[kK]?", text.strip()) else None
    if size is None or size < 512 or size & (size - 1):
        raise ArgumentError(f"'{text}' is not a page size, a power of two from 512 up, such as 4096 or 4K")
    return size


Numbers = Annotated[list[int], Text(numbers)]


@dataclass(frozen=True, kw_only=True)
class MeasuringOptions:
    """How to measure it.

    Attributes:
        set: Set an option of docs/configuration.md; repeatable. Example: --set frequency_ratios=2,3
        period_s: Period length. Example: --period 1h [default: 1d]
        stream: Read the file several times, in bounded memory.
        sample (RATE): Sample this share of pages and contents by hash; errors are stated. Example: --sample 0.01
        sample_seed (N): Seed of --sample. Example: --sample-seed 7
        direction: Logical locality: look for later requests, or for earlier ones. Example: --direction backward
        page_bytes (SIZE): Page size of the write-amplification grid. Example: --page-bytes 16K [default: 4K]
        partitions (A,B,...): Partitions in the grid. Example: --partitions 1,8 [default: 1,2,4,8,12,16,24]
        op (A,B,...): Over-provisioning in the grid, percent. Example: --op 7,28 [default: 7,28,50]
        block_pages (A,B,...): Pages per block in the grid. Example: --block-pages 64,256 [default: 128]
    """

    set: Sets = ()
    period_s: float | None = None
    stream: bool = False
    sample: Annotated[float, click.FloatRange(min=0, max=1, min_open=True)] | None = None
    sample_seed: Annotated[int, click.IntRange(min=0)] | None = None
    direction: Literal["forward", "backward"] | None = None
    page_bytes: Annotated[int, Text(page_size)] | None = None
    partitions: Numbers | None = None
    op: Numbers | None = None
    block_pages: Numbers | None = None

    @property
    def options(self) -> Options:
        short = {
            "period_s": self.period_s,
            "sample_rate": self.sample,
            "sample_seed": self.sample_seed,
            "locality.direction": self.direction,
            "wa.page_bytes": self.page_bytes,
            "wa.partitions": self.partitions,
            "wa.over_provisioning_percent": self.op,
            "wa.block_pages": self.block_pages,
        }
        given = [(key, str(value)) for key, value in short.items() if value is not None]
        return options_from_text([*self.set, *given], threads=0)


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


def show(found: Characterization, folder: Path, report: Path | None, *, as_json: bool) -> None:
    if as_json:
        page = {} if report is None else {"report": str(report)}
        volumes = {"volumes": {name: _json(volume) for name, volume in found.volumes.items()}} if found.volumes else {}
        data_json({**_json(found), **volumes, **page})
        return
    data(pairs([(label, _cell(found.row, key, write)) for label, key, write, _ in _FIGURES]))
    if found.volumes:
        data(_table("volume", {name: found.volumes[name].row for name in islice(found.volumes, _SHOWN)}))
        if len(found.volumes) > _SHOWN:
            say(f"{folder / names.VOLUMES} has all {len(found.volumes):,} volumes")
    show_page(report, folder)


#: Volumes in a table on the terminal.
_SHOWN = 20


def show_batch(done: Batch, *, as_json: bool) -> None:
    if as_json:
        failures = [asdict(failure) for failure in done.failures]
        data_json(
            {"traces": done.rows, "counts": done.counts, "failures": failures, "report": str(done.report or "") or None}
        )
    elif not done.counts:
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
        show_page(done.report, done.path)
    for failure in done.failures:
        say(f"not characterized: {failure.trace}: {failure.message}")


def _json(found: Characterization) -> dict[str, Any]:
    return {**found.summary, "row": found.row, "advice": [entry.as_json() for entry in found.advice]}


def _table(what: str, rows: dict[str, dict[str, Any]]) -> str:
    shown = [(short, key, write) for _, key, write, short in _FIGURES if short]
    body = [[name, *(_cell(row, key, write) for _, key, write in shown)] for name, row in rows.items()]
    return table([what, *(short for short, _, _ in shown)], body)


def _cell(row: dict[str, Any], key: str, write: Callable[[Any], str]) -> str:
    value = row.get(key)
    return "-" if value is None else write(value)
