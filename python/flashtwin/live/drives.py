"""Drives: the controller of a system over an image that keeps real bytes, served as a network block device."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from flashtwin import _core
from flashtwin.arguments import checked
from flashtwin.errors import ArgumentError, ConfigError, LiveError
from flashtwin.live.linux import expect_linux
from flashtwin.live.recording import Server, refuse_two_addresses
from flashtwin.replays import presets
from flashtwin.replays.presets import System
from flashtwin.results.documents import json_object
from flashtwin.settings import Value, merged, texts


@dataclass(frozen=True, kw_only=True)
class Serving:
    """How a drive is served: where, to whom, and at whose pace. The fields are arguments of `serve`."""

    socket: str | PathLike[str] | None = None
    listen: str | None = None
    read_only: bool = False
    period_s: float | None = None
    tls_certificates: str | PathLike[str] | None = None
    twin_time: bool = False


@checked
def serve(
    image: str | PathLike[str],
    *,
    system: str | Path | System | None = None,
    size_bytes: int | None = None,
    settings: Mapping[str, Value] | None = None,
    socket: str | PathLike[str] | None = None,
    listen: str | None = None,
    read_only: bool = False,
    period_s: float | None = None,
    tls_certificates: str | PathLike[str] | None = None,
    twin_time: bool = False,
    **sets: Value | Mapping[str, str],
) -> Server:
    """Serves a drive: writes go through the system's controller and stay in `image`.

    There is no `progress`: serving has no end to measure it by. `Server.figures` has, at any time, the requests
    done.

    Args:
        image: The drive's file, or a block device. Made where there is none, which takes `system` and `size_bytes`;
            else opened, with what had been flushed before the last server ended, however that was.
        system: As in `replay`: a name of `flashtwin.systems`, a TOML file, or what `flashtwin.system` returned. Of an
            image that exists it must be its own.
        size_bytes: Bytes that clients see, whole pages. Of an image that exists it must be its own.
        settings: Keys of the configuration to set otherwise, dotted ones as they are. They are kept with the image,
            but for those of the engine, which say how fast the modelled drive is.
        socket: The Unix socket to serve on, for its owner alone; one in a folder of its own unless told otherwise.
        listen: `HOST:PORT` in place of a socket; loopback only unless clients prove who they are. Port 0 is any.
        read_only: Whether clients may write nothing.
        period_s: Seconds of wall time of a period, at whose end contents are copied; the image's own unless given.
        tls_certificates: A folder with `server-cert.pem` and `server-key.pem`: clients must speak TLS. With
            `ca-cert.pem` in it they must have a certificate of that authority, and may come from other machines.
        twin_time: Whether each answer waits until the modelled drive would have given it. What that drive did is in
            `Server.result` at the end.
        **sets: The same as `settings`, as keywords. One called `sets` is a mapping of keys to values as TOML writes
            them, which is how they were given before.

    Raises:
        ArgumentError: an argument is of the wrong kind.
        ConfigError: such a system cannot be served, or not at this size.
        LiveError: this is no such drive, it is damaged, or it cannot be served there.

    Examples:
        >>> with serve("drive.img", system="rr-ssd", size_bytes=64 << 20, alpha=0.2) as server:
        ...     server.size_bytes
        67108864
    """
    name, keys = _asked(system, settings, dict(sets))
    how = Serving(
        socket=socket, listen=listen, read_only=read_only, period_s=period_s, tls_certificates=tls_certificates,
        twin_time=twin_time,
    )  # fmt: skip
    return begin(image, name, size_bytes, keys, how)


def _asked(
    system: str | Path | System | None, settings: Mapping[str, Value] | None, sets: dict[str, Any]
) -> tuple[str | None, list[tuple[str, str]]]:
    """The preset or file that is asked for, and its keys, as text."""
    texts_of = sets.pop("sets", None) or {}
    if not isinstance(texts_of, Mapping):
        raise ArgumentError("sets is no mapping of keys to texts; give keys as keywords, or settings={...}")
    keys = [*texts(merged(settings, sets)), *((key, str(text)) for key, text in texts_of.items())]
    if not isinstance(system, presets.System):
        return (None if system is None else presets.checked_name(system)), keys
    if keys:
        raise presets.finished(system)
    name, before = system.recipe
    return name, list(before)


def begin(
    image: str | PathLike[str], system: str | None, size_bytes: int | None, sets: list[tuple[str, str]], how: Serving
) -> Server:
    """`serve` with the values of keys as text: TOML literals or bare words, as `--set` takes them."""
    expect_linux("serving a drive")
    if size_bytes is not None and not 0 < size_bytes < 1 << 63:
        raise ConfigError(f"a size of {size_bytes} bytes: expected a positive number of whole pages, below 2**63")
    refuse_two_addresses(how.socket, how.listen)
    if _is_there(image):
        _core.expect_drive(image, system, size_bytes, sets)
    elif how.read_only:
        raise LiveError(f"{os.fspath(image)}: does not exist, and nothing is made to be read only")
    elif system is None or size_bytes is None:
        raise LiveError(f"{os.fspath(image)}: does not exist; name a system and a size, and it is made")
    else:
        presets.warn_of_ignored([(system, presets.resolve_text(system, sets))], [key for key, _ in sets])
        _core.create_drive(image, system, size_bytes, sets)
    return Server.start(how.socket, how.listen, lambda address: _core.serve_drive(
        image, address, is_socket=how.listen is None, read_only=how.read_only, period_s=how.period_s,
        tls=how.tls_certificates, twin=(system, sets) if how.twin_time else None,
    ))  # fmt: skip


def _is_there(image: str | PathLike[str]) -> bool:
    """Whether there is a drive to be opened: a file, or a device that holds something."""
    path = Path(image)
    if not path.is_block_device():
        return path.exists()
    with path.open("rb") as device:
        return any(device.read(4096))


@checked
def drive_info(image: str | PathLike[str]) -> dict[str, Any]:
    """The description of a drive, without opening it: system, sizes in bytes, format, configuration.

    Raises:
        LiveError: this is no drive, or another process writes to it.

    Examples:
        >>> with serve("info.img", system="rr-ssd", size_bytes=64 << 20):
        ...     pass
        >>> drive_info("info.img")["size_bytes"]
        67108864
    """
    expect_linux("looking at a drive")
    return json_object(_core.drive_info_json(image))


@checked
def check_drive(image: str | PathLike[str], *, all_pages: bool = False) -> dict[str, Any]:
    """Compares a drive's tables with one another and with what stands beside its pages. Writes nothing.

    Args:
        image: The drive, which nobody serves meanwhile.
        all_pages: Read every page that is in use and compare it with its digest.

    Returns:
        `problems`, a list that is empty for a drive that is whole; `notes`, damage to one of two copies;
        `unreadable`, the bytes of the drive that cannot be read until they are written or trimmed (the first 100 runs,
        each with `offset_bytes` and `length_bytes`), and `unreadable_pages`, how many pages they are in all;
        `retired_blocks`; counts of the parts checked.

    Raises:
        LiveError: the drive cannot be opened at all.

    Examples:
        >>> with serve("checked.img", system="rr-ssd", size_bytes=64 << 20):
        ...     pass
        >>> check_drive("checked.img")["problems"]
        []
    """
    expect_linux("checking a drive")
    return json_object(_core.check_drive_json(image, all_pages))
