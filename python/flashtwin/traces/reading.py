"""Options of reading a trace's file: one set for the command line, for workers and for stored results."""

from __future__ import annotations

import csv
import io
import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from decimal import Decimal
from pathlib import Path
from typing import Any

from flashtwin import _core
from flashtwin.arguments import expect
from flashtwin.errors import ArgumentError
from flashtwin.progress import Notify, Progress, named
from flashtwin.results.documents import json_object
from flashtwin.results.names import part_of
from flashtwin.traces import sources
from flashtwin.traces.foreign import readable
from flashtwin.traces.scan import Replayable, Scan, scan
from flashtwin.traces.trace import BlkparseAction, OnBadLine, TimeUnit, Trace, native_reading
from flashtwin.traces.trace import open as open_trace


@dataclass(frozen=True)
class Reading:
    """How to read a trace that is given as a path; the options of `flashtwin.open`, and of verbs that read one.

    Attributes:
        format (NAME): Trace format, if it cannot be detected. Example: --format msr
        on_bad_line: Stop at an unreadable line, or skip and count it. Example: --on-bad-line skip
        sort_window_ns: Sort requests that come up to this late; later ones are an error. Example: --sort-window 10s
        blkparse_action: blkparse text: take the time a request is queued (Q), issued (D) or completed (C).
            Example: --blkparse-action Q
        volume (NAME): Read only this volume. Example: --volume 3
        from_s: Start this long after the first request. Example: --from 2h
        to_s: Stop this long after the first request. Example: --to 1d
        columns (PART=COLUMN,...): Read a text or a Parquet, Arrow or ORC file of any layout: columns of time, op,
            offset, length (and volume, content, queue, stream) by name or number, with units; or a TOML file with
            [columns] and these options. Example: --columns time=1:us,op=3,offset=4:512,length=5:512
        delimiter: Sign between the fields of such a text, tab, or blanks. Example: --delimiter ';'
            [default: by its looks]
        header: Whether its first line may be one of names.
        time_unit: Unit of the times of a text, also in a known format. Example: --time-unit s [default: the format's]
        offset_unit (BYTES): Bytes of a unit of its offsets. Example: --offset-unit 512 [default: the format's]
        length_unit (BYTES): Bytes of a unit of its lengths. Example: --length-unit 512 [default: the format's]
        op_words (WORD=OP,...): Operations by words of your own: read, write, trim, flush, or none to pass lines over.
            Example: --op-words true=write,false=read
    """

    format: str | None = None
    on_bad_line: OnBadLine = "fail"
    sort_window_ns: int = 1_000_000_000
    blkparse_action: BlkparseAction = "D"
    volume: str | None = None
    from_s: float | None = None
    to_s: float | None = None
    columns: str | None = None
    delimiter: str | None = None
    header: bool = True
    time_unit: TimeUnit | None = None
    offset_unit: int | None = None
    length_unit: int | None = None
    op_words: str | None = None

    def __post_init__(self) -> None:
        """Columns and words become text, which is kept with results; those of a TOML file as well."""
        if isinstance(self.columns, str) and self.columns.endswith(".toml"):
            for name, value in _options_of(Path(self.columns)).items():
                if name == "columns" or getattr(self, name) == getattr(type(self), name):
                    object.__setattr__(self, name, value)
        for name in ("columns", "op_words"):
            if isinstance(value := getattr(self, name), Mapping):
                object.__setattr__(self, name, _text(value))

    def open(self, path: str | Path, progress: Progress | None = None) -> Trace:
        return open_trace(path, **asdict(self), progress=progress)

    def scan(self, path: str | Path) -> Scan:
        """Leaves it in its file."""
        return scan(path, **asdict(self))

    def split(
        self, path: str | Path, hashed: int | None, out: Path, progress: Progress | None = None
    ) -> dict[str, Any]:
        """Writes a file for each volume, or `hashed` ones of whole volumes, into a folder; returns the manifest."""
        with readable(path, self.native) as (file, how):
            return json_object(_core.split(file, how, hashed, out, named(progress, "splitting")))

    def memory_in_whole(self, path: str | Path) -> tuple[int, int | None]:
        """Bytes of memory that it takes whole, as its beginning lets expect, and bytes that can be had, if known.

        Standard input, and files so small that they fit with any content, take 0.
        """
        with readable(path, self.native) as (file, how):
            return _core.memory_in_whole(file, how)

    @property
    def native(self) -> _core._Reading:
        return native_reading(asdict(self))

    def label(self, trace: str) -> str:
        return part_of(trace, self.volume, self.from_s, self.to_s)

    @property
    def words(self) -> list[str]:
        """Options that differ from the default, as the command line takes them."""
        words: list[str] = []
        for one in fields(self):
            value, (name, _, unit) = getattr(self, one.name), one.name.rpartition("_")
            if value == one.default:
                continue
            if value is False:
                words += [f"--no-{one.name}"]
            elif unit in ("s", "ns"):
                words += [f"--{name.replace('_', '-')}", _time(value / 1e9 if unit == "ns" else value)]
            else:
                words += [f"--{one.name.replace('_', '-')}", str(value)]
        return words


def _text(pairs: Mapping[str, Any]) -> str:
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow([f"{key}={value}" for key, value in pairs.items()])
    return line.getvalue()


#: Options of a TOML file that says how a text is read.
_KEPT = ("columns", "delimiter", "header", "time_unit", "offset_unit", "length_unit", "op_words")


def _options_of(path: Path) -> dict[str, Any]:
    try:
        options = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ArgumentError(f"{path}: cannot be read as TOML ({error})") from None
    wrong = next((name for name in options if name not in _KEPT), None)
    if wrong is not None or not isinstance(options.get("columns"), dict):
        what = f"there is no option '{wrong}'" if wrong is not None else "there is no table [columns]"
        raise ArgumentError(f"{path}: {what}; a file for --columns has [columns] and any of {', '.join(_KEPT[1:])}")
    try:
        expect(open_trace, options)
        native_reading({**{one.name: one.default for one in fields(Reading)}, **options})
    except ArgumentError as error:
        raise ArgumentError(f"{path}: {error}") from None
    return options


def _time(moment_s: float) -> str:
    """Seconds as the command line takes them: without an exponent."""
    return f"{Decimal(repr(moment_s)):f}s"


#: A trace that takes more of the memory that can be had stays in its file: systems have tables, too.
_SHARE_OF_MEMORY = 0.75


@dataclass(frozen=True)
class Source:
    path: str
    reading: Reading = field(default_factory=Reading)
    #: Whether replays that get it from `replayable` read the file again each time instead of holding it.
    stream: bool = False

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Source:
        """From what `dataclasses.asdict` made of one."""
        return cls(str(value["path"]), Reading(**value["reading"]), bool(value["stream"]))

    @property
    def stem(self) -> str:
        """The trace's name without folder and endings, the volume's, and the span of time."""
        return self.reading.label(sources.name_of(self.path))

    def open(self, progress: Progress | None = None, notify: Notify | None = None) -> Trace:
        trace = self.reading.open(self.path, progress)
        if notify:
            notify(f"read as: {trace.read_as}")
        return trace

    def replayable(self) -> Replayable:
        """Reads it, or leaves it in its file, as `stream` says."""
        return self.reading.scan(self.path) if self.stream else self.open()

    @property
    def words(self) -> list[str]:
        """How it is read where that is not as usual, as the command line takes it."""
        return [*self.reading.words, *(["--stream"] if self.stream else [])]

    def to_replay(self, *, stream: bool, progress: Progress | None = None, notify: Notify | None = None) -> Replayable:
        """Reads it, or leaves it in its file: where that is asked for, or where memory would not do for the whole."""

        def scanned() -> Scan:
            trace = self.reading.scan(self.path)
            if notify:
                notify(f"read as: {trace.read_as}")
            return trace

        if stream:
            return scanned()
        needed, available = self.reading.memory_in_whole(self.path)
        if available is None or needed <= available * _SHARE_OF_MEMORY:
            return self.open(progress, notify)
        if notify:
            notify(
                f"{self.path} would take about {needed / 1e9:.1f} GB of memory, {available / 1e9:.1f} GB can be had: "
                "it is read again for each replay instead (as with --stream), results are the same"
            )
        return scanned()

    def absolute(self) -> Source:
        """The same wherever a process works."""
        return replace(self, path=sources.absolute(self.path))
