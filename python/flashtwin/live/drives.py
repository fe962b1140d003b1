"""Drives: the controller of a system over an image that keeps real bytes, served as a network block device."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from flashtwin import _core
from flashtwin.errors import ArgumentError, LiveError
from flashtwin.live.linux import expect_linux
from flashtwin.live.recording import Server


def serve(
    image: str | PathLike[str],
    *,
    system: str | None = None,
    size_bytes: int | None = None,
    sets: Mapping[str, str] | None = None,
    socket: str | PathLike[str] | None = None,
    listen: str | None = None,
    read_only: bool = False,
    period_s: float | None = None,
    tls_certificates: str | PathLike[str] | None = None,
    twin_time: bool = False,
) -> Server:
    """Serves a drive: what is written goes through the system's controller and stays in `image`.

    Args:
        image: The drive's file, or a block device. Made where there is none, which takes `system` and `size_bytes`;
            else opened, with what had been flushed before the last server ended, however that was.
        system: A name of `flashtwin.systems`, or a TOML file. Of an image that exists it must be its own.
        size_bytes: Bytes that clients see, whole pages. Of an image that exists it must be its own.
        sets: Keys of the configuration, each with its value as TOML writes it. They are kept with the image, but for
            those of the engine, which say how fast the modelled drive is.
        socket: The Unix socket to serve on, for its owner alone; one in a folder of its own unless told otherwise.
        listen: `HOST:PORT` in place of a socket; loopback only unless clients prove who they are. Port 0 is any.
        read_only: Whether clients may write nothing.
        period_s: Seconds of wall time of a period, at whose end contents are copied; the image's own unless given.
        tls_certificates: A folder with `server-cert.pem` and `server-key.pem`: clients must speak TLS. With
            `ca-cert.pem` in it they must have a certificate of that authority, and may come from other machines.
        twin_time: Whether each answer waits until the modelled drive would have given it. What that drive did is in
            `Server.result` at the end.

    Raises:
        ConfigError: such a system cannot be served, or not at this size.
        LiveError: this is no such drive, it is damaged, or it cannot be served there.

    Examples:
        >>> with serve("drive.img", system="rr-ssd", size_bytes=64 << 20) as server:
        ...     server.size_bytes
        67108864
    """
    expect_linux("serving a drive")
    if socket is not None and listen is not None:
        raise ArgumentError("a server is on a socket or on a port; give `socket` or `listen`, not both")
    settings = list((sets or {}).items())
    if _is_there(image):
        _core.expect_drive(image, system, size_bytes, settings)
    elif read_only:
        raise LiveError(f"{os.fspath(image)}: does not exist, and nothing is made to be read only")
    elif system is None or size_bytes is None:
        raise LiveError(f"{os.fspath(image)}: does not exist; name a system and a size, and it is made")
    else:
        _core.create_drive(image, system, size_bytes, settings)
    folder = Path(mkdtemp(prefix="flashtwin-")) if socket is None and listen is None else None
    address = listen or os.fspath(socket or str(Path(folder or ".") / "nbd.sock"))
    try:
        native = _core.serve_drive(
            image, address, is_socket=listen is None, read_only=read_only, period_s=period_s, tls=tls_certificates,
            twin=(system, settings) if twin_time else None,
        )  # fmt: skip
    except BaseException:
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)
        raise
    return Server(native, folder)


def _is_there(image: str | PathLike[str]) -> bool:
    """Whether there is a drive to be opened: a file, or a device that holds something."""
    path = Path(image)
    if not path.is_block_device():
        return path.exists()
    with path.open("rb") as device:
        return any(device.read(4096))


def drive_info(image: str | PathLike[str]) -> dict[str, Any]:
    """What a drive is, without opening it: system, sizes in bytes, format, configuration.

    Raises:
        LiveError: this is no drive, or another process writes to it.
    """
    expect_linux("looking at a drive")
    found: dict[str, Any] = json.loads(_core.drive_info_json(image))
    return found


def check_drive(image: str | PathLike[str], *, all_pages: bool = False) -> dict[str, Any]:
    """Compares a drive's tables with one another and with what stands beside its pages. Writes nothing.

    Args:
        image: The drive, which nobody serves meanwhile.
        all_pages: Read every page that is in use and compare it with its digest.

    Returns:
        `problems`, a list that is empty for a drive that is whole; `notes`, what exists twice and is whole once;
        counts of what was looked at.

    Raises:
        LiveError: the drive cannot be opened at all.
    """
    expect_linux("checking a drive")
    found: dict[str, Any] = json.loads(_core.check_drive_json(image, all_pages))
    return found
