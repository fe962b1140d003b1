"""Sources of traces as files: a URL becomes a local copy, a split trace one file again.

Copies stay as long as the process, because several steps of a verb read them.
"""

from __future__ import annotations

import errno
import os
import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir, mkdtemp
from typing import IO, Any
from urllib.parse import unquote, urlsplit

from flashtwin.errors import OutputError, TraceError
from flashtwin.results import documents, names

#: A path has lost one of the slashes. A single letter is a drive of Windows.
_URL = re.compile(r"([a-z][a-z0-9+.-]+):/+(?=[^/])")
#: Seconds without a byte after which a server counts as gone.
_PATIENCE_S = 60.0
#: Fields of a part in a manifest.
_PART = {"name", "file", "volumes", "requests", "start_ns"}


def url_of(path: str | Path) -> str | None:
    scheme = _URL.match(str(path))
    root = "/" if scheme and scheme[1] == "file" else ""
    return f"{scheme[1]}://{root}{str(path)[scheme.end() :]}" if scheme else None


@cache
def scratch() -> TemporaryDirectory[str]:
    return TemporaryDirectory(prefix="flashtwin-")


def scratch_folder() -> Path:
    return Path(mkdtemp(dir=scratch().name))


@contextmanager
def scratch_space() -> Iterator[None]:
    """Names the folder of temporary files if its disk is full."""
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EFBIG, errno.EDQUOT):
            raise
        why = f"cannot be written ({os.strerror(error.errno).lower()})"
        cure = "free some space, or set TMPDIR to a folder on another disk"
        raise OutputError(f"{gettempdir()}: {why}; {cure}") from None


def local(path: str | Path) -> str | Path:
    """The file itself, a copy of the file at a URL, or the file that the parts of a split trace were merged into."""
    if (listed := manifest(path)) is not None:
        from flashtwin.traces import joining

        document, files = listed
        copies = [Path(local(file)) for file in files]
        key = str(path), *(str(stamp(file)) for file in copies)
        if key not in _COPIES:
            _COPIES[key] = joining.joined(str(path), document, copies)
        return _COPIES[key]
    return path if (url := url_of(path)) is None else _copy(url)


@contextmanager
def read_once(path: str | Path) -> Iterator[None]:
    """Deletes the copies of a source that are made meanwhile, because a worker has many sources."""
    kept = set(_COPIES)
    yield
    for key in [key for key in _COPIES if key not in kept and key[0] in (str(path), url_of(path))]:
        shutil.rmtree(_COPIES.pop(key).parent, ignore_errors=True)


def manifest(path: str | Path) -> tuple[dict[str, Any], list[str | Path]] | None:
    """The manifest of a split trace and the files of its parts; `path` is the manifest or, on a disk, its folder."""
    url = url_of(path)
    if url is not None and Path(urlsplit(url).path).name != names.MANIFEST:
        return None
    found = documents.json_or_none(Path(_copy(url)) if url is not None else _manifest_file(Path(path)))
    if not isinstance(found, dict) or not {"flashtwin", "parts", "name"} <= found.keys():
        return None
    try:
        files = [str(part["file"]) for part in found["parts"] if part.keys() >= _PART]
    except (TypeError, AttributeError):
        files = []
    if not files or len(files) != len(found["parts"]):
        raise TraceError(f"{path}: this manifest does not say what its parts are; split the trace again")
    if url is not None:
        return found, [f"{url.rpartition('/')[0]}/{file}" for file in files]
    return found, [_manifest_file(Path(path)).parent / file for file in files]


def is_results(path: str | Path) -> bool:
    """Whether it is a folder, but not of a split trace."""
    return Path(path).is_dir() and manifest(path) is None


def _manifest_file(path: Path) -> Path:
    return path if path.name == names.MANIFEST else path / names.MANIFEST


def name_of(path: str | Path) -> str:
    """The trace's name without folder and endings."""
    if str(path) == "-":
        return "stdin"
    if (listed := manifest(path)) is not None:
        return str(listed[0]["name"])
    url = url_of(path)
    name = Path(path).name if url is None else Path(unquote(urlsplit(url).path)).name
    return name.split(".")[0] or name


def absolute(path: str | Path) -> str:
    """The same wherever a process works."""
    return url_of(path) or str(Path(path).resolve())


def stamp(path: str | Path) -> list[Any]:
    """Size and age, so that a file need not be read to be known; nothing of a file that cannot be had."""
    if (url := url_of(path)) is not None:
        try:
            stream, *marks = _connect(url)
        except TraceError:
            return [None]
        stream.close()
        return marks
    file = _manifest_file(Path(path))
    status = next((one.stat() for one in (file, Path(path)) if one.is_file()), None)
    return [None] if status is None else [status.st_size, status.st_mtime_ns]


def _copy(url: str) -> Path:
    stream, size, mark = _connect(url)
    with closing(stream):
        if (key := (url, size, mark)) not in _COPIES:
            _COPIES[key] = _download(url, stream, size)
    return _COPIES[key]


#: By source, sizes and marks of the version.
_COPIES: dict[tuple[Any, ...], Path] = {}


def _download(url: str, stream: IO[bytes], size: int | None) -> Path:
    from http.client import HTTPException

    folder = scratch_folder()
    with (partial := folder / "partial").open("wb") as file:
        try:
            with scratch_space():
                shutil.copyfileobj(stream, file, 1 << 20)
        except (OSError, HTTPException) as error:
            raise TraceError(f"{url}: broke off ({error}); try again") from None
    if size is not None and (copied := partial.stat().st_size) != size:
        raise TraceError(f"{url}: ended after {copied:,} of {size:,} bytes; try again")
    return partial.rename(folder / (Path(unquote(urlsplit(url).path)).name or "trace"))


def _connect(url: str) -> tuple[IO[bytes], int | None, str]:
    """The bytes at a URL, their number if it is known, and a mark that changes with them."""
    scheme = url.partition(":")[0]
    try:
        return _of_server(url) if scheme in ("http", "https") else _of_store(url, scheme)
    except TraceError:
        raise
    except (OSError, ValueError) as error:
        raise TraceError(f"{url}: cannot be read ({error}); check address and access") from None


def _of_server(url: str) -> tuple[IO[bytes], int | None, str]:
    # Here, because most traces are files.
    from http.client import HTTPException
    from urllib.error import HTTPError
    from urllib.request import urlopen

    try:
        answer = urlopen(url, timeout=_PATIENCE_S)  # noqa: S310 - the scheme is one of two
    except HTTPError as error:
        raise TraceError(f"{url}: the server answers {error.code} {error.reason}; check the address") from None
    except HTTPException as error:
        raise TraceError(f"{url}: cannot be read (no HTTP: {error!r}); check the address") from None
    size = answer.headers["Content-Length"]
    return answer, int(size) if size else None, f"{answer.headers['ETag']} {answer.headers['Last-Modified']}"


def _of_store(url: str, scheme: str) -> tuple[IO[bytes], int | None, str]:
    """A file of a store that PyArrow knows (s3, gs, abfs, hdfs), or else fsspec."""
    import pyarrow
    from pyarrow import fs

    try:
        system, path = fs.FileSystem.from_uri(url)
    except pyarrow.ArrowInvalid:
        return _of_fsspec(url, scheme)
    info = system.get_file_info(path)
    # As it is: the core knows compression by the first bytes.
    return system.open_input_stream(path, compression=None), info.size, str(info.mtime_ns)


def _of_fsspec(url: str, scheme: str) -> tuple[IO[bytes], int | None, str]:
    try:
        import fsspec  # type: ignore[import-untyped]

        system, path = fsspec.url_to_fs(url)
    except ImportError as error:
        cure = "pip install fsspec, and the package of the store"
        raise TraceError(f"{url}: {scheme}:// is read through fsspec ({error}); {cure}") from None
    info: Mapping[str, Any] = system.info(path)
    marks = {"mtime", "ETag", "etag", "LastModified", "created", "updated"} & info.keys()
    return system.open(path, "rb"), info.get("size"), " ".join(str(info[mark]) for mark in sorted(marks))
