"""Bytes that a host and a medium wrote, from the output of `nvme-cli` or `smartctl` as JSON or as text."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from flashtwin.errors import DriveError

#: A data unit of NVMe's SMART log: a thousand sectors of 512 bytes.
DATA_UNIT_BYTES = 512_000
#: Endings of the files: NVMe's own log, and the one of the Open Compute Project or of the maker.
SMART, OCP = "smart", "ocp"
#: Names of the counters in these logs, and the bytes of their units.
_COUNTERS = {
    SMART: ((r"data[ _]units[ _]written", DATA_UNIT_BYTES), (r"host[ _]bytes[ _]written", 1)),
    OCP: (
        (r"physical[ _]media[ _]units[ _]written", 1),
        (r"(?:physical[ _])?(?:nand|media)[ _]bytes[ _]written", 1),
    ),
}
#: Intel's and Solidigm's logs have `normalized` and `raw`, which counts 32 MiB.
_RAW_BYTES = 32 << 20
_COMMANDS = {SMART: "nvme smart-log DEVICE -o json", OCP: "nvme ocp smart-add-log DEVICE -o json"}
_NAMES = {SMART: "the host's bytes", OCP: "the medium's bytes"}
#: Hexadecimal, digits in groups as any locale has them, or digits. `64.66` is none of these.
_GROUP = "[.,'’_\u00a0\u202f]"
_COUNT = rf"(?:0[xX][0-9a-fA-F]+|\d{{1,3}}(?:{_GROUP}\d{{2,3}})*{_GROUP}\d{{3}}|\d+)(?=[\s(\[]|$)"
_MOST = 1 << 100


def is_counter_file(file: Path) -> bool:
    """Whether a file has the name of counters beside a job: `JOB.before.smart.json`."""
    return re.search(rf"\.({SMART}|{OCP})\.(json|txt)$", file.name) is not None


def recognized(file: Path) -> dict[str, int]:
    """The counters in a file of any name, by `host` and `medium`."""
    found = {}
    for kind, name in ((SMART, "host"), (OCP, "medium")):
        try:
            found[name] = parsed(_text(file), kind, str(file))
        except DriveError:
            continue
    return found


def written(folder: Path, stem: str, kind: str) -> int | None:
    """Bytes written between `STEM.before.KIND.json` and `STEM.after.KIND.json` (`.txt` for text); None without both.

    Raises:
        DriveError: a file is cut or no such log, only one is there, or the counter went backwards.
    """
    counts: dict[str, int] = {}
    for moment in ("before", "after"):
        files = (folder / f"{stem}.{moment}.{kind}.{ending}" for ending in ("json", "txt"))
        if (file := next((file for file in files if file.is_file()), None)) is not None:
            counts[moment] = parsed(_text(file), kind, str(file))
    if not counts:
        return None
    place = f"{folder / stem}.json: the counter of {_NAMES[kind]}"
    if len(counts) == 1:
        missing = "after" if "before" in counts else "before"
        raise DriveError(
            f"{place} {missing} the job is missing; run the job again with `{_COMMANDS[kind]}` before and after it, "
            "or delete its other counter file to fit without it"
        )
    if counts["after"] < counts["before"]:
        raise DriveError(
            f"{place} goes backwards, from {counts['before']:,} to {counts['after']:,}; are the files swapped, or of "
            "two drives? Run the job again"
        )
    return counts["after"] - counts["before"]


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise DriveError(f"{file}: cannot be read: {error}") from None


def parsed(text: str, kind: str, place: str) -> int:
    """The bytes that a log counts.

    Raises:
        DriveError: they are not there; the message says how to get them.
    """
    cure = f"write the file with `LC_ALL=C {_COMMANDS[kind]}`, or delete it to fit without it"
    values = list(_json_values(text, place, cure) if text.lstrip().startswith(("{", "[")) else _text_values(text, kind))
    for key, unit_bytes in _COUNTERS[kind]:
        for name, value in values:
            if re.fullmatch(key, name, re.IGNORECASE):
                count = _whole(value)
                if count is None:
                    raise DriveError(f"{place}: {name} is '{str(value)[:60]}': a whole number is expected; {cure}")
                return count * (_RAW_BYTES if isinstance(value, Mapping) and "raw" in value else unit_bytes)
    log = "a SMART log" if kind == SMART else "an OCP log"
    raise DriveError(f"{place}: this is not {log}, or the drive does not count {_NAMES[kind]}; {cure}")


def _json_values(text: str, place: str, cure: str) -> Iterator[tuple[str, Any]]:
    """All keys and values; `smartctl -j` has them in an object of the document."""
    try:
        below = [json.loads(text)]
    except (ValueError, RecursionError):
        raise DriveError(f"{place}: the JSON is cut or damaged; run the job again, or {cure}") from None
    while below:
        value = below.pop()
        if isinstance(value, Mapping):
            yield from value.items()
            below += value.values()


def _text_values(text: str, kind: str) -> Iterator[tuple[str, Any]]:
    for line in text.splitlines():
        for key, _ in _COUNTERS[kind]:
            if (name := re.search(key, line, re.IGNORECASE)) is not None:
                yield name[0], _counted(line[name.end() :], kind)


def _counted(text: str, kind: str) -> Any:
    """The number after a counter's name; the text itself where there is none."""
    if kind == SMART:
        # Some locales group digits by a blank. In an OCP log it divides two halves of 64 bits.
        text = re.sub(r"(?<=\d) (?=\d{3}(?!\d))", "", text)
    # Older versions print two halves, newer ones the whole and something readable in parentheses.
    number = re.match(rf"[^\d(]*(?<!-)({_COUNT})(?:\s+({_COUNT})\s*$)?", text)
    if number is None:
        return text.strip(" :\t")
    return number[1] if number[2] is None else {"hi": number[1], "lo": number[2]}


def _whole(value: Any) -> int | None:
    """A count: a number, digits, halves of 64 bits, or one beside its normalized value."""
    if isinstance(value, Mapping):
        if "raw" in value:
            return _whole(value["raw"])
        high, low = _whole(value.get("hi", 0)), _whole(value.get("lo"))
        return None if high is None or low is None else (high << 64) + low
    if isinstance(value, str) and re.fullmatch(_COUNT, value.strip()):
        digits = re.sub(_GROUP, "", value.strip())[:40]
        value = int(digits, 16 if digits[:2].lower() == "0x" else 10)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < _MOST or value != int(value):
        return None
    return int(value)
