"""The output of the benches, as data. Pure: text in, numbers out."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

NUMBER = r"[\d.,]+"
ENGINE = re.compile(
    rf"^(?P<name>\S+) +{NUMBER} s +(?P<host>{NUMBER}) M page ops/s, +(?P<share>{NUMBER}) of the bare loop "
    rf"\( *(?P<bare>{NUMBER}) M\), +(?P<flash>{NUMBER}) M flash ops/s; tables (?P<page>{NUMBER}|-) B/page, "
    rf"(?P<content>{NUMBER}|-) B/content"
)
TRACE = re.compile(r"^(?P<operations>\d+) page operations, (?P<pages>\d+) pages, (?P<contents>\d+) contents$")
BASICS = re.compile(rf"^  (?P<name>\S.*?) +(?P<rate>{NUMBER}) M requests/s$")
REQUESTS = re.compile(r"^(?P<requests>\d+) requests, (?P<contents>\d+) page contents")
LOCALITY = re.compile(rf"^(?P<name>\S.*?) +(?P<rate>{NUMBER}) M \w+/s +bare loop +(?P<bare>{NUMBER}) M/s")
WORKLOAD = re.compile(r"^(?P<name>\w+): \d+ M requests, \d+ M contents$")
WA = re.compile(rf"^(?P<name>\S.*?) +(?P<seconds>{NUMBER}) s +(?P<rate>{NUMBER}) M (?:pages|writes)/s +(?P<more>.*)$")
ADDING = re.compile(rf"(?P<bare>{NUMBER}) M/s only adding up")
F_MIN = re.compile(rf"^(?P<frequencies>\d+) frequencies; then (?P<ms>{NUMBER}) ms")
INGEST = re.compile(
    rf"^(?P<name>\S+) +(?P<rate>{NUMBER}) M lines/s +{NUMBER} MB/s +\(streamed (?P<streamed>{NUMBER}) of that time; "
    rf"(?P<newlines>{NUMBER}) M lines/s only finding newlines"
)
PARQUET = re.compile(rf"^parquet +(?P<rate>{NUMBER}) M rows/s, (?P<contents>{NUMBER}) M contents/s")
DRAWING = re.compile(rf"^bare loop +(?P<rate>{NUMBER}) M requests/s")
MADE = re.compile(
    rf"^(?P<name>\S+/\S+) +(?P<memory>{NUMBER}) in memory, +(?P<one>{NUMBER}) into a file with one thread, "
    rf"+(?P<two>{NUMBER}) with two; M requests/s$"
)
PEER_SPEED = re.compile(
    rf"^peer: (?P<name>\S+) +(?P<rate>{NUMBER}) M pages/s \[.*\], write amplification (?P<wa>{NUMBER})$"
)
PEER_TIME = re.compile(rf"^peer: (?P<name>\S+) +(?P<seconds>{NUMBER}) s \[.*\], (?P<rate>{NUMBER}) requests/s$")
PEER_TIMES = re.compile(rf"^peer: .*? (?P<times>{NUMBER}) times as (?:many|long)")

WHOLE = re.compile(
    rf"^whole: (?P<name>\S+) +(?P<seconds>{NUMBER}) s beyond (?P<start>{NUMBER}) s to start, (?P<rate>{NUMBER}) M page ops/s, "
    rf"(?P<replay>{NUMBER}) of its replay, (?P<bare>{NUMBER}) of its bare loop$"
)
SWEEP = re.compile(rf"^sweep: (?P<name>\S.*?) +(?P<seconds>{NUMBER}) s \[.*\], (?P<runs>{NUMBER}) runs$")
SWEEP_OVERHEAD = re.compile(r"^sweep: overhead (?P<ms>-?[\d.]+) ms a run")
SWEEP_TIMES = re.compile(rf"^sweep: dask takes (?P<times>{NUMBER}) times as long")
SWEEP_LOAD = re.compile(rf"^sweep: load average (?P<load>{NUMBER}) ")


class UnknownOutputError(Exception):
    """A bench did not print a line that it is known to print."""


def number(text: str | None) -> float | None:
    """A number as printed; None where there is none."""
    return None if text is None or text == "-" else float(text.replace(",", ""))


def found(pattern: re.Pattern[str], text: str) -> list[dict[str, Any]]:
    """What every line that fits holds, the name as it stands and all else as numbers.

    Raises:
        UnknownOutputError: no line fits.
    """
    lines = [match.groupdict() for line in text.splitlines() if (match := pattern.search(line))]
    if not lines:
        raise UnknownOutputError(f"no line like {pattern.pattern} in: {text[:300]}")
    return [{key: value if key in ("name", "more") else number(value) for key, value in one.items()} for one in lines]


def by_name(rows: Iterable[Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Rows under their names."""
    return {row["name"]: {key: value for key, value in row.items() if key != "name"} for row in rows}


def engine(text: str) -> dict[str, Any]:
    """Replays: the trace, and every system beside its bare loop."""
    return {"trace": found(TRACE, text)[0], "systems": by_name(found(ENGINE, text))}


def basics(text: str) -> dict[str, Any]:
    """Counting, popularity, drift, space, duplicates: millions of requests a second."""
    rates = {row["name"]: row["rate"] for row in found(BASICS, text)}
    return {"trace": found(REQUESTS, text)[0], "rates": rates}


def locality(text: str) -> dict[str, Any]:
    """Stack distances, locality, reading; under the workload's name, or under `alone` where there is no workload."""
    grouped: dict[str, list[str]] = {"alone": []}
    place = "alone"
    for line in text.splitlines():
        if heading := WORKLOAD.match(line):
            place = heading["name"].lower()
        grouped.setdefault(place, []).append(line)
    return {name: by_name(found(LOCALITY, "\n".join(lines))) for name, lines in grouped.items()}


def wa(text: str) -> dict[str, Any]:
    """The wa-simulator, counting of writes, `f_min`."""
    rows = by_name(found(WA, text))
    histogram = rows.pop("f_min, histogram")
    return {
        "rates": {name: row["rate"] for name, row in rows.items()},
        "adding": {
            name.removesuffix(", counting"): found(ADDING, row["more"])[0]["bare"]
            for name, row in rows.items()
            if name.endswith(", counting")
        },
        "f_min": {"histogram_ms": 1000 * histogram["seconds"], **found(F_MIN, histogram["more"])[0]},
    }


def ingest(text: str) -> dict[str, Any]:
    """Reading: formats of text, then Parquet without and with contents."""
    plain, contents = found(PARQUET, text)
    return {"text": by_name(found(INGEST, text)), "parquet": {"plain": plain, "contents": contents}}


def synthesize(text: str) -> dict[str, Any]:
    """Making traces, beside drawing random numbers."""
    return {"bare": found(DRAWING, text)[0]["rate"], "recipes": by_name(found(MADE, text))}


def whole(text: str) -> dict[str, Any]:
    """Whole processes beside the engine alone."""
    return by_name(found(WHOLE, text))


def peer_ftlsim(text: str) -> dict[str, Any]:
    """The wa-simulator beside ftlsim."""
    return {**by_name(found(PEER_SPEED, text)), "times": found(PEER_TIMES, text)[0]["times"]}


def peer_mqsim(text: str) -> dict[str, Any]:
    """The whole process beside MQSim."""
    return {**by_name(found(PEER_TIME, text)), "times": found(PEER_TIMES, text)[0]["times"]}


def sweeps(text: str) -> dict[str, Any]:
    """A sweep beyond its replays, Dask beside the pool; with the machine's load before and after."""
    return {
        **by_name(found(SWEEP, text)),
        "overhead_ms": found(SWEEP_OVERHEAD, text)[0]["ms"],
        "times": found(SWEEP_TIMES, text)[0]["times"],
        "load": [one["load"] for one in found(SWEEP_LOAD, text)],
    }
