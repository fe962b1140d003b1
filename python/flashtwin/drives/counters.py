"""Bytes that a host and a medium wrote, from the output of `nvme-cli` as JSON or as text."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flashtwin.errors import DriveError

#: A data unit of NVMe's SMART log: a thousand sectors of 512 bytes.
DATA_UNIT_BYTES = 512_000
#: Endings of the files: NVMe's own log, and the one of the Open Compute Project.
SMART, OCP = "smart", "ocp"
_KEYS = {
    SMART: re.compile(r"data[ _]units[ _]written", re.IGNORECASE),
    OCP: re.compile(r"physical[ _]media[ _]units[ _]written", re.IGNORECASE),
}
_COMMANDS = {SMART: "nvme smart-log DEVICE -o json", OCP: "nvme ocp smart-add-log DEVICE -o json"}
_COUNT = r"\d{1,3}(?:,\d{3})+|\d+"
_MOST = 1 << 100


@dataclass(frozen=True)
class Counters:
    """Lifetime counters of a drive; None where they were not read, or the drive has none."""

    host_bytes: int | None = None
    medium_bytes: int | None = None


@dataclass(frozen=True)
class BytesWritten:
    """Bytes written between two moments; None where a counter is missing."""

    host_bytes: int | None
    medium_bytes: int | None


def read_counters(folder: Path, stem: str, moment: str) -> Counters:
    """The counters that stand in `STEM.MOMENT.smart.json` and `STEM.MOMENT.ocp.json`; `.txt` for text.

    Raises:
        DriveError: a file is cut, or is no such log.
    """
    host = _found(folder, f"{stem}.{moment}", SMART)
    return Counters(None if host is None else host * DATA_UNIT_BYTES, _found(folder, f"{stem}.{moment}", OCP))


def written(before: Counters, after: Counters, place: str) -> BytesWritten:
    """The bytes written in between.

    Raises:
        DriveError: a counter went backwards, or was read only once.
    """
    return BytesWritten(
        _difference(before.host_bytes, after.host_bytes, place, SMART),
        _difference(before.medium_bytes, after.medium_bytes, place, OCP),
    )


def _difference(before: int | None, after: int | None, place: str, kind: str) -> int | None:
    name = "the host's bytes" if kind == SMART else "the medium's bytes"
    if before is None and after is None:
        return None
    if before is None or after is None:
        missing = "before" if before is None else "after"
        raise DriveError(
            f"{place}: the counter of {name} {missing} the job is missing; run the job again with `{_COMMANDS[kind]}` "
            "before and after it, or delete its other counter file to fit without it"
        )
    if after < before:
        raise DriveError(
            f"{place}: the counter of {name} goes backwards, from {before:,} to {after:,}; are the files swapped, or "
            "of two drives? Run the job again"
        )
    return after - before


def _found(folder: Path, name: str, kind: str) -> int | None:
    for ending in ("json", "txt"):
        file = folder / f"{name}.{kind}.{ending}"
        if file.is_file():
            return parsed(_text(file), kind, str(file))
    return None


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise DriveError(f"{file}: cannot be read: {error}") from None


def parsed(text: str, kind: str, place: str) -> int:
    """The counter in the text of a log: data units of a SMART log, bytes of an OCP log.

    Raises:
        DriveError: it is not there; the message says how to get it.
    """
    found = _of_json(text, kind, place) if text.lstrip().startswith(("{", "[")) else _of_text(text, kind)
    if found is None:
        log = "a SMART log" if kind == SMART else "an OCP log"
        raise DriveError(
            f"{place}: this is not {log}, or the drive does not count that; write the file with "
            f"`{_COMMANDS[kind]}`, or delete it to fit without it"
        )
    return found


def _of_json(text: str, kind: str, place: str) -> int | None:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        raise DriveError(
            f"{place}: the JSON is cut or damaged; run the job again with `{_COMMANDS[kind]}`, or delete the file "
            "to fit without it"
        ) from None
    if not isinstance(value, Mapping):
        return None
    return next((_whole(one) for key, one in value.items() if _KEYS[kind].fullmatch(key)), None)


def _whole(value: Any) -> int | None:
    """A count: a number, digits, or halves of 64 bits."""
    if isinstance(value, Mapping):
        high, low = _whole(value.get("hi", 0)), _whole(value.get("lo"))
        return None if high is None or low is None else (high << 64) + low
    if isinstance(value, str):
        digits = re.fullmatch(_COUNT, value.strip())
        value = int(digits[0].replace(",", "")[:40]) if digits else None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < _MOST:
        return None
    return int(value)


def _of_text(text: str, kind: str) -> int | None:
    for line in text.splitlines():
        key = _KEYS[kind].search(line)
        if key is None:
            continue
        # Older versions print two halves of 64 bits, newer ones the whole and something readable in parentheses.
        rest = re.match(rf"[^\d(]*({_COUNT})(?:\s+({_COUNT})\s*$)?", line[key.end() :])
        if rest is None:
            return None
        first, second = (None if one is None else int(one.replace(",", "")[:40]) for one in rest.groups())
        return first if second is None or first is None else (first << 64) + second
    return None
