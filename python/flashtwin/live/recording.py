"""Recording: a network block device in front of a file, a device or another server, and a trace of its requests."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from os import PathLike
from pathlib import Path
from tempfile import mkdtemp
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self

from flashtwin import _core
from flashtwin.arguments import checked
from flashtwin.errors import ArgumentError
from flashtwin.live.linux import expect_linux
from flashtwin.progress import Progress, named
from flashtwin.results.documents import json_object

if TYPE_CHECKING:
    from flashtwin.replays.running import Result

#: The formats of a recording.
Format = Literal["parquet", "fiu"]


class Server:
    """A network block device that is being served. Made by `record`; ends with the `with` that it is used in.

    It runs on threads of its own. `figures` may be asked at any time.

    >>> _ = Path("served.img").write_bytes(bytes(1 << 20))
    >>> with record("served.img", "served.parquet") as server:
    ...     server.size_bytes
    1048576
    """

    def __init__(self, native: _core.Server, folder: Path | None = None) -> None:
        """Wraps the core's server; use `flashtwin.record`."""
        self._native = native
        self._folder = folder

    @classmethod
    def start(
        cls, socket: str | PathLike[str] | None, listen: str | None, begin: Callable[[str], _core.Server]
    ) -> Server:
        """Begins to serve at an address; without one, on a socket in a folder of its own."""
        folder = Path(mkdtemp(prefix="flashtwin-")) if socket is None and listen is None else None
        try:
            return cls(begin(listen or os.fspath(socket or str(Path(folder or ".") / "nbd.sock"))), folder)
        except BaseException:
            if folder is not None:
                shutil.rmtree(folder, ignore_errors=True)
            raise

    @property
    def uri(self) -> str:
        """Where clients find it: `nbd+unix:///?socket=PATH` or `nbd://HOST:PORT/`."""
        return self._native.uri

    @property
    def size_bytes(self) -> int:
        """Bytes that it serves."""
        return self._native.size_bytes

    @property
    def figures(self) -> dict[str, Any]:
        """The figures so far: `server` with a list of `operations`; `recording`, or `drive` and `twin`."""
        return json_object(self._native.figures_json())

    @property
    def result(self) -> Result | None:
        """What the modelled drive did with the requests, as a replay tells it: of a drive served with `twin_time`.

        None before it has ended, and where the modelled drive stopped before (`figures["twin"]["failure"]` says why).
        """
        native = self._native.result()
        if native is None:
            return None
        from flashtwin.replays.running import Result

        return Result(json_object(native.summary_json)["system"], native)

    def stop(self) -> None:
        """Finishes requests under way, makes them durable, and ends; a second call does nothing.

        Raises:
            LiveError: not everything could be made durable, or written down.
        """
        try:
            self._native.stop()
        finally:
            if self._folder is not None:
                shutil.rmtree(self._folder, ignore_errors=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stops it."""
        self.stop()

    def __repr__(self) -> str:
        return f"<flashtwin.Server {self.uri!r}: {self.size_bytes:,} bytes>"


def refuse_two_addresses(socket: str | PathLike[str] | None, listen: str | None) -> None:
    """Refuses a server on a socket and on a port."""
    if socket is not None and listen is not None:
        raise ArgumentError("a server is on a socket or on a port; give `socket` or `listen`, not both")


@checked
def record(
    target: str | PathLike[str],
    out: str | PathLike[str],
    *,
    socket: str | PathLike[str] | None = None,
    listen: str | None = None,
    key_file: str | PathLike[str] | None = None,
    format: Format = "parquet",  # noqa: A002 - as everywhere
    read_only: bool = False,
    loss_s: float = 10.0,
    tls_certificates: str | PathLike[str] | None = None,
) -> Server:
    """Serves `target` and writes what passes to `out`, a trace with contents.

    There is no system whose keys could be set, nothing is modelled; and no `progress`, because recording ends when it
    is ended. `Server.figures` says at any time what has passed.

    Args:
        target: A file, a block device, or the URI of another server: `nbd://HOST:PORT/NAME`,
            `nbd+unix:///NAME?socket=PATH`.
        out: The trace. An existing one is replaced.
        socket: As of `serve`.
        listen: As of `serve`.
        key_file: The key of the digests, 64 hex digits; made where there is none. Without one, a key that is forgotten.
        format: `parquet` is canonical Parquet, `fiu` FIU's text, which has no trims and no flushes.
        read_only: Whether clients may write nothing.
        loss_s: Seconds of the recording that may be lost if this process is killed; of a long one, a 256th.
        tls_certificates: As of `serve`.

    Raises:
        LiveError: it cannot be served, or not written down there.

    Examples:
        >>> _ = Path("disk.img").write_bytes(bytes(1 << 20))
        >>> with record("disk.img", "mine.parquet") as server:
        ...     server.uri.partition("?")[0]
        'nbd+unix:///'
    """
    expect_linux("recording")
    refuse_two_addresses(socket, listen)
    if format not in ("parquet", "fiu"):
        raise ArgumentError(f"'{format}' is no format of recordings; there are: parquet, fiu")
    return Server.start(socket, listen, lambda address: _core.record(
        os.fspath(target), out, address, is_socket=listen is None, key_file=key_file, format=format,
        read_only=read_only, name=Path(out).stem, loss_max_s=loss_s, tls=tls_certificates,
    ))  # fmt: skip


@checked
def import_log(
    path: str | PathLike[str],
    out: str | PathLike[str],
    *,
    key_file: str | PathLike[str] | None = None,
    progress: Progress | None = None,
) -> int:
    """Writes a log of dm-log-writes, or of QEMU's `blklogwrites`, down as canonical Parquet.

    Such a log has writes with their data, flushes and discards in order; it has no times and no reads.

    Args:
        path: The log.
        out: The trace. An existing one is replaced.
        key_file: As of `record`.
        progress: Called with the step, entries done and entries in all.

    Returns:
        Requests of the trace, flushes among them.

    Raises:
        LiveError: this is no such log, or it ends in the middle; there is no trace then.
    """
    expect_linux("importing a log of writes")
    return _core.import_log_writes(path, out, key_file, named(progress, "importing the log"))


@checked
def recover(path: str | PathLike[str]) -> tuple[int, int]:
    """Cuts an interrupted recording back to its complete part, so that every tool can read it.

    flashtwin itself reads an interrupted recording as it is.

    Returns:
        Requests that it has, flushes among them, and bytes that were cut off.

    Raises:
        TraceError: this is no recording, or somebody is recording to it.

    Examples:
        >>> _ = Path("cut.img").write_bytes(bytes(1 << 20))
        >>> with record("cut.img", "cut.parquet"):
        ...     pass
        >>> recover("cut.parquet")
        (0, 0)
    """
    return _core.recover_recording(path)
