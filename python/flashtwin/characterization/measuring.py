"""Characterization: the properties of a workload. Definitions and sources: docs/characterization.md."""

from __future__ import annotations

import html
import json
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from flashtwin import _core
from flashtwin.arguments import checked
from flashtwin.errors import FlashtwinError, ReportError
from flashtwin.judgement.verdict import Verdict
from flashtwin.progress import Progress, named
from flashtwin.results import folder, names, rows
from flashtwin.results.documents import json_object, json_or_none
from flashtwin.results.frames import ArrowTable, Table, Tabular, shown, table_of
from flashtwin.results.volumes import Group, VolumeFiles
from flashtwin.settings import Setting, merged, texts
from flashtwin.traces.foreign import readable
from flashtwin.traces.reading import Reading
from flashtwin.traces.scan import Replayable, Scan
from flashtwin.traces.trace import OnBadLine, Trace

if TYPE_CHECKING:
    import pyarrow
    from matplotlib.figure import Figure

    from flashtwin.results.reading import StudyFolder

#: Length of a period unless another is asked for: a day, as in the RR-SSD paper.
PERIOD_S = 86_400.0


@dataclass(frozen=True)
class Options:
    """How to characterize: every key decided and checked. Made by `options`."""

    #: All keys as the core takes them, which is all that a result depends on.
    key: str
    #: How many threads the core uses; 0 is one for each core.
    threads: int = 1

    def json(self) -> str:
        return json.dumps({**json.loads(self.key), "threads": self.threads})

    @property
    def words(self) -> str:
        """Options that a replay needs as well, for the end of a command line: the period, unless it is a day."""
        period_s = float(json.loads(self.key)["period_s"])
        return f" --period {period_s:g}s" if period_s != PERIOD_S else ""


def options(sets: Mapping[str, Setting | None], threads: int = 1) -> Options:
    """The options with some keys changed (docs/characterization.md); None leaves a key as it is."""
    given = {key: value for key, value in sets.items() if value is not None}
    return options_from_text(texts(given), threads)


def options_from_text(sets: Sequence[tuple[str, str]], threads: int = 1) -> Options:
    """Like `options`, with values as text: TOML literals, bare words or lists without brackets."""
    return Options(_core.resolve_options(list(sets)), threads)


def options_schema() -> dict[str, Any]:
    """The JSON schema of all options; descriptions carry units and sources.

    >>> import flashtwin as ft
    >>> "period_s" in ft.options_schema()["properties"]
    True
    """
    return json_object(_core.options_schema())


@checked
@dataclass(frozen=True)
class Characterization(Tabular):
    """The properties of a workload. Made by `characterize`, or read back by `read`. As a frame: `row`.

    >>> import flashtwin as ft
    >>> found = ft.characterize(ft.open("traces/webvm-small.fiu.zst").excerpt(to_s=10))
    >>> found.row["info.requests"], "miss_ratio" in found.table_names
    (4049, True)
    """

    #: All scalars, one object a metric; undefined ones are None.
    summary: dict[str, Any] = field(repr=False)
    _tables: Mapping[str, Callable[[], ArrowTable]] = field(repr=False)
    #: Where it was asked for and the trace has several: each volume by itself, by name.
    volumes: Mapping[str, Characterization] = field(default_factory=dict, repr=False)
    #: The runs beside it, in a study's folder.
    study: StudyFolder | None = field(default=None, repr=False)
    #: How a command line names the trace and how it is read.
    trace: str = "TRACE"

    @classmethod
    def read(cls, path: str | Path) -> Characterization:
        """Reads a folder that `write`, `flashtwin characterize` or `flashtwin study` wrote.

        Raises:
            FlashtwinError: there is no characterization in the folder.
        """
        path = Path(path)
        summary = folder.read_characterization(path)
        files = names.tables(path / names.WORKLOAD)
        tables = {name: lambda file=file: folder.read_table(file) for name, file in files.items()}
        return cls(summary, tables, _volumes(path / names.VOLUMES), _study(path), _told_by(path))

    @property
    def name(self) -> str:
        """The name of the trace."""
        return str(self.summary["info"]["name"])

    @property
    def table_names(self) -> list[str]:
        """Names that `table` knows."""
        return list(self._tables)

    def table(self, name: str) -> Table:
        """A table such as `"miss_ratio"`, for anything that speaks the Arrow PyCapsule interface."""
        if name not in self._tables:
            raise FlashtwinError(f"no table is called '{name}'; there are: {', '.join(self._tables)}")
        return Table(self._tables[name]())

    def __reduce__(self) -> tuple[Any, ...]:
        tables = {name: self.table(name).to_arrow for name in self._tables}
        return Characterization, (self.summary, tables, self.volumes, self.study, self.trace)

    def to_arrow(self) -> pyarrow.Table:
        """`row` as a table of PyArrow."""
        return table_of([self.row])

    def _repr_html_(self) -> str:
        told = [{"topic": one.topic, "answer": one.answer, "why": one.sentence} for one in self.advice]
        return f"<p>{html.escape(self.name)}</p>{shown(table_of(told))}"

    @cached_property
    def row(self) -> dict[str, Any]:
        """Every scalar under one dotted name, with what advice is made from: one row of the table of many traces."""
        tables = {name: self.table(name).to_arrow().to_pylist() for name in rows.TABLES if name in self._tables}
        return dict(rows.flat(self.summary, tables))

    @cached_property
    def advice(self) -> list[Verdict]:
        """Advice for this workload, one verdict a topic."""
        # These load NumPy and PyArrow, which a replay does without.
        from flashtwin.judgement import judging
        from flashtwin.judgement.evidence import Evidence

        return judging.advice(judging.judge(Evidence(self.study, self.row, self.trace)))

    def chart(self, name: str) -> Figure:
        """One of the report's charts of the workload, as a Matplotlib figure."""
        from flashtwin import report

        with TemporaryDirectory(prefix="flashtwin-") as scratch:
            self.write_into(Path(scratch))
            return report.chart(name, scratch)

    def write(self, path: str | Path) -> Path:
        """Writes all scalars, the advice and the tables into a folder, made if need be; returns it."""
        with folder.prepared(path, holding=names.CHARACTERIZATION) as ready:
            self.write_into(ready)
        return ready

    def write_into(self, path: Path) -> None:
        """`write`, into a folder that is known to be ours."""
        folder.write_workload(path, {name: self.table(name) for name in self._tables})
        folder.write_volumes(path, self.volumes.files.copy if isinstance(self.volumes, VolumesByName) else None)
        self.write_advice(path)
        folder.write_json(path / names.CHARACTERIZATION, {"flashtwin": _core.__version__, **self.summary})

    def write_advice(self, path: Path) -> None:
        """Writes the advice alone, which knows of the runs in the folder."""
        told = replace(self, study=_study(path)).advice
        folder.write_json(path / names.ADVICE, {"trace": self.trace, "advice": [entry.as_json() for entry in told]})


class VolumesByName(Mapping[str, Characterization]):
    """Volumes of a trace; each is read from the files of all when it is asked for."""

    def __init__(self, files: VolumeFiles) -> None:
        self.files = files

    def __getitem__(self, volume: str) -> Characterization:
        tables = {name: partial(self.files.table, volume, name) for name in names.tables(self.files.path)}
        return Characterization(self.files.summary(volume), tables)

    def __iter__(self) -> Iterator[str]:
        return iter(self.files.places)

    def __len__(self) -> int:
        return len(self.files.places)


def _volumes(path: Path) -> Mapping[str, Characterization]:
    return VolumesByName(VolumeFiles(path)) if (path / names.CHARACTERIZATIONS).is_file() else {}


def _study(path: Path) -> StudyFolder | None:
    """The finished runs in a folder; None without any that can be read."""
    from flashtwin.results.reading import load

    if not (path / names.STUDY).is_file():
        return None
    try:
        return load(path)
    except ReportError:
        return None


def _told_by(path: Path) -> str:
    advice = json_or_none(path / names.ADVICE)
    return str(advice["trace"]) if isinstance(advice, dict) and "trace" in advice else "TRACE"


@checked
def characterize(
    trace: Replayable | str | Path,
    *,
    settings: Mapping[str, Setting] | None = None,
    sample: float | None = None,
    stream: bool = False,
    by_volume: bool = False,
    threads: int = 0,
    format: str | None = None,  # noqa: A002 - as in `open`
    on_bad_line: OnBadLine = "fail",
    progress: Progress | None = None,
    **sets: Setting,
) -> Characterization:
    """Measures everything that docs/characterization.md defines.

    Args:
        trace: what `open` or `scan` returned, or a path.
        settings: options to set otherwise, dotted ones as they are: `{"wa.frequency_ratios": [2, 2.5, 3, 5]}`.
        sample: look at this share of pages and contents only, chosen by hash; errors are stated.
        stream: read a path several times with bounded memory instead of once into memory.
        by_volume: characterize each volume by itself as well, as SWC does (`volumes` of the result).
        threads: how many the core uses; 0 is one for each core. Results do not depend on it.
        format: the format of a path, where its looks leave doubt.
        on_bad_line: of a path: `"fail"` at a line that cannot be read, or `"skip"` and count it.
        progress: told how far reading and characterizing are (`flashtwin.progress`).
        **sets: the same as keywords, by any ending of their key that is unique: `period_s=120`,
            `partitions=[1, 2, 4]`, `distance_max=256`.

    Raises:
        TraceError: the trace cannot be read.
        ConfigError: an option is not known or out of range.

    >>> import flashtwin as ft
    >>> found = ft.characterize("traces/webvm-small.fiu.zst", period_s=120)
    >>> found.summary["temperature"]["partitions_for_ratio_2"]
    3
    >>> [advice.answer for advice in found.advice if advice.topic == "deduplication"]
    ['yes']
    """
    chosen = options({"sample_rate": sample, **merged(settings, sets)}, threads)
    reading = Reading(format, on_bad_line)
    return measure(trace, chosen, reading, stream=stream, by_volume=by_volume, progress=progress)


def measure(
    trace: Replayable | str | Path,
    options: Options,
    reading: Reading,
    *,
    stream: bool = False,
    by_volume: bool = False,
    progress: Progress | None = None,
) -> Characterization:
    heard = named(progress, "characterizing")

    source: Trace | str | Path
    if isinstance(trace, Scan):
        opened = dict(trace.source)
        source, reading = opened.pop("path"), Reading(**opened)
    else:
        source = trace if isinstance(trace, Trace) or stream else reading.open(trace, progress)

    if isinstance(source, Trace):
        whole = _wrapped(source._native.characterize(options.json(), heard))
    else:
        with readable(source, reading.native) as (file, how):
            whole = _wrapped(_core.characterize_stream(file, how, options.json(), heard))
    whole = replace(whole, trace=_words(source, reading) + options.words)
    return replace(whole, volumes=_by_volume(source, reading, whole, options, progress)) if by_volume else whole


#: Volumes whose results are in memory together.
_VOLUMES_TOGETHER = 256


def _by_volume(
    source: Trace | str | Path, reading: Reading, whole: Characterization, options: Options, progress: Progress | None
) -> Mapping[str, Characterization]:
    """The volumes that are read, written or trimmed, where there are several."""
    rows = whole.table(names.VOLUMES).to_arrow().to_pylist()
    requests = {row["volume"]: row["reads"] + row["writes"] + row["trims"] for row in rows}
    if sum(map(bool, requests.values())) < 2:
        return {}
    with TemporaryDirectory(prefix="flashtwin-") as scratch:
        if isinstance(source, Trace):
            held, called = _core.VolumeSet.of_trace(source._native), source.volumes
        else:
            split = reading.split(source, None, Path(scratch), progress)
            files = [Path(scratch) / part["file"] for part in split["parts"]]
            held = _core.VolumeSet.of_files(split["name"], split["read_as"], files)
            called = [part["name"] for part in split["parts"]]
        volumes = sorted((name, requests[name], place) for place, name in enumerate(called) if requests[name])

        def groups() -> Iterator[Group]:
            for first in range(0, len(volumes), _VOLUMES_TOGETHER):
                if progress:
                    progress("characterizing volumes", first, len(volumes))
                some = volumes[first : first + _VOLUMES_TOGETHER]
                yield [name for name, _, _ in some], *held.characterize(some, options.json())

        return VolumesByName(VolumeFiles.gather(groups()))


def _words(source: Trace | str | Path, reading: Reading) -> str:
    """How a command line names a trace; `TRACE` where it came from no file."""
    how = {"path": str(source)} if not isinstance(source, Trace) else dict(source.source or {})
    path = str(how.pop("path", "TRACE"))
    reading = Reading(**how) if isinstance(source, Trace) else reading
    return shlex.join([path if path != "-" else "TRACE", *reading.words])


def _wrapped(native: _core.Characterization) -> Characterization:
    tables = {name: lambda name=name: native.table(name) for name in native.table_names}
    return Characterization(json_object(native.summary_json), tables)
