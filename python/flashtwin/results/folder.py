"""Result folders: written so that only complete results ever stand under their names (`names` has these).

Every file is written under another name first and renamed; a run's folder likewise. One process at a time
writes into a folder (`locking`).
"""

import hashlib
import io
import json
import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path
from typing import Any, Protocol

from flashtwin import _core
from flashtwin.errors import ConfigError, FlashtwinError, OutputError, cannot_be_written
from flashtwin.results import documents, locking, names
from flashtwin.results.formats import FORMAT


class WritableRun(Protocol):
    """A run that can be written: the core's own, or one read from files."""

    def write(self, path: str | Path, /) -> None:
        """Writes the summary and the tables into a folder that exists."""


#: Stands in every result.
VERSION = _core.__version__
_PARTIAL = ".partial"
#: Endings of temporary names: those of this module, and those of the report.
_TEMPORARY = (_PARTIAL, ".tmp")


@contextmanager
def prepared(path: str | Path, *, holding: str = names.STUDY) -> Iterator[Path]:
    """Makes a folder ready for results before any long work; takes it away again if none came.

    A folder that is not empty must hold results already (the file `holding`): nothing else is ever
    written over. As long as it is held nobody else may prepare it.
    """
    path = Path(path)
    existed, owned, unfinished = path.exists(), False, path / names.UNFINISHED
    try:
        with locked(path) as fresh:
            _refuse_strangers(path, holding)
            if fresh:
                # Before anything else, because a full disk may refuse it later.
                write_text(unfinished, "")
                owned = True
            for left in [one for ending in _TEMPORARY for one in path.rglob(f".*{ending}")] if fresh else ():
                # It is gone when the folder that it lay in was removed before it.
                if left.exists():
                    _remove(left)
            yield path
            if fresh:
                unfinished.unlink(missing_ok=True)
    except FlashtwinError as error:
        raise outward(error, path) from None
    finally:
        if owned and list(path.iterdir()) == [unfinished]:
            unfinished.unlink()
        if not existed and path.is_dir() and not any(path.iterdir()):
            path.rmdir()


@contextmanager
def unlocked(path: Path, *, holding: str) -> Iterator[Path]:
    """Like `prepared`, for folders that several processes write into at once, none of them what another does.

    Nothing that was left half-written is taken away: somebody may be at work on it.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"{path}: cannot be written to ({_reason(error)}); choose another folder") from None
    _refuse_strangers(path, holding)
    yield path


@contextmanager
def locked(path: Path) -> Iterator[bool]:
    """Holds a folder, made if need be, for this thread alone; yields whether it did not hold it before."""
    with ExitStack() as stack:
        try:
            path.mkdir(parents=True, exist_ok=True)
            probe = path / f".writable-{os.getpid()}{_PARTIAL}"
            probe.touch()
            probe.unlink(missing_ok=True)
            fresh = stack.enter_context(locking.lock(path))
        except locking.BusyError as busy:
            raise OutputError(f"{path}: {busy}; wait until it has ended, or choose another folder") from None
        except OSError as error:
            raise OutputError(f"{path}: cannot be written to ({_reason(error)}); choose another folder") from None
        yield fresh


@contextmanager
def new(path: Path) -> Iterator[Path]:
    """A folder that has its name only when it is complete; nothing is replaced."""
    if path.exists():
        raise OutputError(f"{path}: exists; choose another folder")
    with writing(path) as partial:
        partial.mkdir(parents=True)
        yield partial
        partial.replace(path)


def check_run_name(name: str) -> None:
    if not name or name.startswith(".") or any(sign in name for sign in "/\\\0"):
        raise ConfigError(f"'{name}' cannot name a run: it must be a file name that does not begin with a dot")


def write_text(path: Path, text: str) -> None:
    """Writes a text file, complete or not at all."""
    with writing(path) as partial:
        partial.write_text(text, encoding="utf-8")


def write_texts(texts: Mapping[Path, str]) -> None:
    """Writes text files, or none of them, because the same command refuses a file that exists."""
    written: list[Path] = []
    try:
        for path, text in texts.items():
            write_text(path, text)
            written.append(path)
    except OutputError:
        for path in written:
            path.unlink()
        raise


def without_report(path: Path) -> None:
    """Removes the page of an earlier call, because its figures may not be those of the folder any more."""
    (path / names.REPORT).unlink(missing_ok=True)


def write_json(path: Path, value: Any) -> None:
    write_text(path, json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n")


def write_run(path: Path, name: str, result: WritableRun) -> None:
    """Writes a run's folder, complete or not at all; one of that name is replaced."""
    with writing(names.run(path, name)) as partial:
        partial.mkdir(parents=True)
        result.write(partial)


def has_requests(path: Path, name: str) -> bool:
    return names.table(names.run(path, name), names.REQUESTS).is_file()


def requests_part(path: Path, name: str) -> Path:
    """Where the table of a run's requests grows while the run goes on; files of a killed process are deleted."""
    return path / f".{name}-{names.REQUESTS}{_PARTIAL}"


def write_workload(path: Path, tables: Mapping[str, Any]) -> None:
    """Writes the tables about the trace, which speak the Arrow PyCapsule interface."""
    from pyarrow import parquet

    with writing(path / names.WORKLOAD) as partial:
        partial.mkdir()
        for name, table in tables.items():
            parquet.write_table(documents.arrow_table(table), names.table(partial, name), compression="zstd")


def write_volumes(path: Path, copy: Callable[[Path], None] | None) -> None:
    """Writes the folder of a trace's volumes, complete or not at all; without `copy` takes an earlier one away."""
    final = path / names.VOLUMES
    with writing(final) as partial:
        if copy is None:
            _remove(final)
        else:
            copy(partial)


def write_table(path: Path, table: Any) -> None:
    from pyarrow import parquet

    with writing(path) as partial:
        parquet.write_table(table, partial, compression="zstd")


def table_bytes(table: Any) -> bytes:
    """The content of a table as `write_table` writes it, for code that writes files in another way."""
    from pyarrow import parquet

    buffer = io.BytesIO()
    parquet.write_table(table, buffer, compression="zstd")
    return buffer.getvalue()


def read_table(path: Path) -> Any:
    from pyarrow import lib

    try:
        return documents.read_parquet(path)
    except (lib.ArrowException, OSError, UnicodeDecodeError) as error:
        raise OutputError(f"{path}: not a readable Parquet file ({error}); characterize the trace again") from None


def read_characterization(path: Path) -> dict[str, Any]:
    """The characterization of a folder, without the version that wrote it."""
    file = path / names.CHARACTERIZATION
    try:
        summary = json.loads(file.read_text(encoding="utf-8"))
    except OSError:
        raise OutputError(f"{path}: no {names.CHARACTERIZATION} in it; {_what_instead(path)}") from None
    except ValueError as error:
        raise OutputError(f"{file}: not JSON ({error})") from None
    if not isinstance(summary, dict) or not isinstance(summary.get("info"), dict):
        raise OutputError(f"{file}: not a characterization: it has no `info`")
    summary.pop("flashtwin", None)
    return summary


def _what_instead(path: Path) -> str:
    if (path / names.TRACES).is_dir():
        return f"it holds many traces, each with its own in `{path / names.TRACES}/NAME`"
    if (path / names.RUNS).is_dir() or (path / names.STUDY).is_file():
        return (
            "it holds runs of `compare` or `replay`, or of a `study` that has not ended; "
            "characterize the trace, or run the study again"
        )
    return "expected a folder that `flashtwin characterize` or `study` wrote"


def write_study(path: Path, trace: Mapping[str, Any], runs: Sequence[str], more: Mapping[str, Any]) -> None:
    """Writes the file that makes a folder a result folder; `more` is what else it says of the runs together.

    A choice made from other runs is deleted.
    """
    write_json(
        path / names.STUDY,
        {"flashtwin": VERSION, "format": FORMAT, "trace": trace, "runs": list(runs), "baseline": runs[0], **more},
    )
    (path / names.CANDIDATES).unlink(missing_ok=True)


def characterization_key(*parts: Any) -> str:
    """Names all that a characterization depends on: the format, the core itself and the caller's additions."""
    return hashlib.sha256(json.dumps([FORMAT, core_digest(), *parts], sort_keys=True).encode()).hexdigest()


def characterized_from(path: Path) -> str | None:
    """The key of the complete characterization in a folder; None without one, or where a file of it is damaged."""
    key = documents.json_or_none(path / names.CHARACTERIZED_FROM)
    if not isinstance(key, str):
        return None
    try:
        read_characterization(path)
        for file in names.tables(path / names.WORKLOAD).values():
            read_table(file)
    except OutputError:
        return None
    return key


def record_characterization(path: Path, key: str) -> None:
    """Notes the input of a characterization; an empty key says that it is under way."""
    write_json(path / names.CHARACTERIZED_FROM, key)


def run_key(digest: str, config: Mapping[str, Any]) -> str:
    """Names all that a run's result depends on: the core itself, the trace, the configuration.

    Raises:
        ArgumentError: a policy of the configuration cannot be told from others (`flashtwin.policies.digest`).
    """
    if "@uncovered-" in repr(config):
        from flashtwin.policies.registry import check_covered

        check_covered(config)
    return characterization_key(digest, config)


def finished_runs(path: Path) -> dict[str, str]:
    """Keys of the complete runs in a folder, by name; empty if the folder does not say."""
    keys = documents.json_or_none(path / names.MADE_FROM)
    if not isinstance(keys, dict):
        return {}
    return {str(name): str(key) for name, key in keys.items() if (names.run(path, name) / names.SUMMARY).is_file()}


def record_run(path: Path, name: str, key: str) -> None:
    write_json(path / names.MADE_FROM, dict(sorted({**finished_runs(path), name: key}.items())))


def forget_run(path: Path, name: str) -> None:
    finished = finished_runs(path)
    if finished.pop(name, None) is not None:
        write_json(path / names.MADE_FROM, finished)


@contextmanager
def writing(final: Path) -> Iterator[Path]:
    """A name beside `final` to write under, renamed at the end; errors are put in words.

    A folder replaces an earlier one.
    """
    partial = final.with_name(f".{final.name}{_PARTIAL}")
    try:
        _remove(partial)
        yield partial
        if partial.is_dir():
            _remove(final)
        if partial.exists():
            partial.replace(final)
    except FlashtwinError as error:
        raise outward(error, final) from None
    except OSError as error:
        raise OutputError(cannot_be_written(final, _reason(error))) from None
    finally:
        _remove(partial)


def outward(error: FlashtwinError, final: Path) -> FlashtwinError:
    """Turns an error about a temporary name into one about the name that the user knows; others stay as they are."""
    partial = rf"(?:.*/)?\.[^/]*{re.escape(_PARTIAL)}[^:]*: "
    about = re.match(rf"{partial}(?:External: )?(.*?)(?: \(os error \d+\))?$", str(error))
    return OutputError(cannot_be_written(final, about[1].lower())) if about else error


def _reason(error: OSError) -> str:
    # Arrow has the system's words inside its own.
    return re.sub(r"^.*\[errno \d+\] ", "", (error.strerror or str(error)).lower())


def _refuse_strangers(path: Path, holding: str) -> None:
    if any((path / name).is_file() for name in (holding, names.UNFINISHED, names.MADE_FROM, names.CHARACTERIZED_FROM)):
        return
    stranger = min((entry.name for entry in path.iterdir() if not _is_left_over(entry)), default=None)
    if stranger is not None:
        raise OutputError(f"{path}: holds '{stranger}' but no results of flashtwin; choose a new or an empty folder")


def _is_left_over(entry: Path) -> bool:
    """Whether a killed process left this: a file or folder under a temporary name, or a folder of nothing else."""
    if entry.name in (locking.LOCK, names.UNFINISHED) or (
        entry.name.startswith(".") and entry.name.endswith(_TEMPORARY)
    ):
        return True
    return entry.is_dir() and entry.name in (names.RUNS, names.TRACES) and all(map(_is_left_over, entry.iterdir()))


@cache
def core_digest() -> str:
    """The identity of a build of the core."""
    with Path(_core.__file__).open("rb") as library:
        return hashlib.file_digest(library, "sha256").hexdigest()


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
