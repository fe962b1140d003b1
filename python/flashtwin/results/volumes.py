"""The characterizations of many volumes, in files for all of them.

A folder for each of thousands of volumes would take longer to write than to measure.

    FOLDER/characterizations.jsonl   a line a volume: its name and its summary, in order of the names
    FOLDER/NAME.parquet              a table of all volumes, in the same order; the column `volume` has the name
"""

from __future__ import annotations

import json
import shutil
import weakref
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from functools import cached_property
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING, Any, TypeAlias

from flashtwin.errors import OutputError
from flashtwin.results import documents, names, reading

if TYPE_CHECKING:
    import pyarrow

#: Names of some volumes, the summary of each as JSON text, and their tables.
Group: TypeAlias = tuple[list[str], list[str], Mapping[str, Any]]

_VOLUME = "volume"
_LINE_START = b'{"volume": '


class VolumeFiles:
    """The files in a folder. Tables are read when they are asked for."""

    def __init__(self, path: Path) -> None:
        self.path = path
        #: Each table that was asked for, and the volume of each row.
        self._tables: dict[str, tuple[pyarrow.Table, list[str]]] = {}

    @classmethod
    def gather(cls, groups: Iterable[Group]) -> VolumeFiles:
        """Writes groups of volumes as they come, so that the results of few are in memory."""
        files = cls._temporary()
        try:
            _write(files.path, groups)
        except OSError as error:
            raise OutputError(f"{files.path}: cannot be written ({error}); set TMPDIR to a folder with room") from None
        return files

    @classmethod
    def _temporary(cls) -> VolumeFiles:
        """A folder that lives as long as the object."""
        files = cls(Path(mkdtemp(prefix="flashtwin-")))
        weakref.finalize(files, shutil.rmtree, files.path, ignore_errors=True)
        return files

    @classmethod
    def _restored(cls, files: Mapping[str, bytes]) -> VolumeFiles:
        made = cls._temporary()
        for name, content in files.items():
            (made.path / name).write_bytes(content)
        return made

    def copy(self, path: Path) -> None:
        shutil.copytree(self.path, path)

    def __reduce__(self) -> tuple[Any, ...]:
        return VolumeFiles._restored, ({file.name: file.read_bytes() for file in self.path.iterdir()},)

    @cached_property
    def places(self) -> dict[str, int]:
        """Where the line of each volume begins, by name."""
        places, at = {}, 0
        with (self.path / names.CHARACTERIZATIONS).open("rb") as lines:
            for line in lines:
                name, _ = json.JSONDecoder().raw_decode(line.removeprefix(_LINE_START).decode())
                places[str(name)] = at
                at += len(line)
        return places

    def summary(self, volume: str) -> dict[str, Any]:
        with (self.path / names.CHARACTERIZATIONS).open("rb") as lines:
            lines.seek(self.places[volume])
            summary: dict[str, Any] = json.loads(lines.readline())["summary"]
        return summary

    def table(self, volume: str, name: str) -> pyarrow.Table:
        """The rows of one volume, as a table of the volume alone has them."""
        if name not in self._tables:
            table = reading.read_arrow(names.table(self.path, name))
            self._tables[name] = table, table[_VOLUME].to_pylist()
        table, volumes = self._tables[name]
        first = bisect_left(volumes, volume)
        mine = table.slice(first, bisect_right(volumes, volume) - first)
        return mine if name == names.VOLUMES else mine.drop_columns(_VOLUME)


def _write(path: Path, groups: Iterable[Group]) -> None:
    writers: dict[str, Any] = {}
    with (path / names.CHARACTERIZATIONS).open("wb") as lines, ExitStack() as opened:
        for volumes, summaries, tables in groups:
            for volume, summary in zip(volumes, summaries, strict=True):
                lines.write(_LINE_START + f'{json.dumps(volume)}, "summary": {summary}}}\n'.encode())
            for name, held in tables.items():
                table = documents.arrow_table(held)
                if name not in writers:
                    writer = documents.table_writer(names.table(path, name), table.schema)
                    writers[name] = opened.enter_context(writer)
                writers[name].write_table(table)
