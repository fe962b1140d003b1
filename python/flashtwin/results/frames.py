"""Anything with rows and columns as a frame of whichever library the reader works with."""

from __future__ import annotations

import html
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from flashtwin.errors import FlashtwinError, not_installed

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

SHOWN_ROWS = 10


class ArrowTable(Protocol):
    """Anything that speaks the Arrow PyCapsule interface."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The table as a stream of record batches."""


class Tabular:
    """A base of results that are tables: for Polars, pandas, PyArrow and DuckDB as they are, for people in a notebook.

    `polars.DataFrame(x)` and `pyarrow.table(x)` take it without copying; `pandas.DataFrame(x)` takes it row by
    row, `to_pandas` whole.
    """

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The table as an Arrow C stream (the schema asked for is not converted to, as the interface allows)."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def to_arrow(self) -> pyarrow.Table:
        """The table of PyArrow."""
        raise NotImplementedError

    def to_polars(self) -> polars.DataFrame:
        """The frame of Polars.

        Raises:
            FlashtwinError: Polars is not installed.
        """
        try:
            import polars
        except ImportError:
            raise not_installed("this frame", "Polars", "polars") from None
        return polars.DataFrame(self.to_arrow())

    def to_pandas(self) -> pandas.DataFrame:
        """The frame of pandas.

        Raises:
            FlashtwinError: pandas is not installed.
        """
        try:
            import pandas  # noqa: F401 - PyArrow needs it
        except ImportError:
            raise not_installed("this frame", "pandas", "pandas") from None
        return self.to_arrow().to_pandas()

    def _repr_html_(self) -> str:
        return shown(self.to_arrow())


class Row(tuple[Any, ...]):
    """A row of a table, with the names of its columns as named tuples have them, dots and all."""

    __slots__ = ()
    _fields: ClassVar[tuple[str, ...]] = ()

    def __getattr__(self, name: str) -> Any:
        if name not in self._fields:
            raise AttributeError(f"the row has no column '{name}'; there are: {', '.join(self._fields)}")
        return self[self._fields.index(name)]


class Rows(Tabular):
    """The basics of a table: a length, and rows to go through."""

    def __iter__(self) -> Iterator[Row]:
        """The rows, each a tuple that knows the names of its columns; it is these that pandas reads."""
        table = self.to_arrow()
        # A class a table: pandas asks a row for the names.
        kind: Any = type("Row", (Row,), {"__slots__": (), "_fields": tuple(table.column_names)})
        for batch in table.to_batches(max_chunksize=10_000):
            yield from map(kind, zip(*(column.to_pylist() for column in batch.columns), strict=True))


class Table(Rows):
    """A table of named columns. Hand it to anything that speaks the Arrow PyCapsule interface."""

    def __init__(self, source: ArrowTable) -> None:
        """Wraps the core's table, or any other that speaks the interface."""
        self._source = source

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The table as it lies in the core, without a copy."""
        return self._source.__arrow_c_stream__(requested_schema)

    def __len__(self) -> int:
        source: Any = self._source
        return len(source)

    def __repr__(self) -> str:
        return f"<flashtwin.Table of {len(self):,} rows: {', '.join(self.column_names)}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return Table, (self.to_arrow(),)

    @property
    def column_names(self) -> list[str]:
        """Names of the columns, in order."""
        names: list[str] = self._source.column_names  # type: ignore[attr-defined]  # which both kinds have
        return list(names)

    def to_arrow(self) -> pyarrow.Table:
        """The table of PyArrow."""
        from flashtwin.results import documents

        table: pyarrow.Table = documents.arrow_table(self._source)
        return table


class StoredRun:
    """A run whose summary and tables are not in the core but in files, or came from another process."""

    def __init__(self, summary_json: str, tables: Mapping[str, Callable[[], ArrowTable]]) -> None:
        """Wraps a summary as text, and what reads each table when it is asked for."""
        self.summary_json = summary_json
        self._tables = dict(tables)

    @property
    def table_names(self) -> list[str]:
        """Names that `table` knows."""
        return list(self._tables)

    def table(self, name: str) -> ArrowTable:
        """One of the tables.

        Raises:
            FlashtwinError: there is none of that name; the message lists those that there are.
        """
        if name not in self._tables:
            raise FlashtwinError(f"no table is called '{name}'; there are: {', '.join(self._tables)}")
        return self._tables[name]()

    def write(self, path: str | Path) -> None:
        """Writes the summary and the tables into a folder that exists."""
        from pyarrow import parquet

        from flashtwin.results import documents, names

        place = Path(path)
        for name in self._tables:
            parquet.write_table(documents.arrow_table(self.table(name)), names.table(place, name), compression="zstd")
        (place / names.SUMMARY).write_text(self.summary_json, encoding="utf-8")


def one_row(values: Mapping[str, Any]) -> dict[str, Any]:
    """The scalars of nested values under dotted names; lists have tables of their own."""
    from flashtwin.results.trees import leaves

    return {key: value for key, value in leaves(values) if not isinstance(value, list)}


def table_of(rows: Sequence[Mapping[str, Any]]) -> pyarrow.Table:
    """Rows of different keys as one table; a key that a row has not is missing, and so is one that all have as None."""
    import pyarrow

    keys = dict.fromkeys(key for row in rows for key in row)
    columns = {}
    for key in keys:
        values = [row.get(key) for row in rows]
        try:
            array = pyarrow.array(values)
        except (pyarrow.ArrowInvalid, pyarrow.ArrowTypeError):
            # A key that is a number in one row and a word in another ("none").
            array = pyarrow.array([None if value is None else str(value) for value in values])
        columns[key] = array.cast(pyarrow.float64()) if pyarrow.types.is_null(array.type) else array
    return pyarrow.table(columns)


def stacked(tables: Mapping[str, ArrowTable], column: str) -> pyarrow.Table:
    """Tables of one kind below one another, each row with the name of its table in a first column."""
    import pyarrow

    from flashtwin.results import documents

    parts = []
    for name, table in tables.items():
        part = documents.arrow_table(table)
        names = pyarrow.array([name] * part.num_rows, pyarrow.string())
        parts.append(part.add_column(0, column, names))
    return pyarrow.concat_tables(parts, promote_options="default")


def shown(table: pyarrow.Table) -> str:
    head = "".join(f"<th>{html.escape(name)}</th>" for name in table.column_names)
    rows = table.slice(0, SHOWN_ROWS).to_pylist()
    body = "".join(f"<tr>{''.join(f'<td>{_cell(row[name])}</td>' for name in table.column_names)}</tr>" for row in rows)
    more = f"<p>{table.num_rows:,} rows, {table.num_columns:,} columns</p>"
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return html.escape(f"{value:.6g}" if isinstance(value, float) else str(value))
