"""Timelines, read back with Perfetto's own classes; what holds of any run is in crates/sim/tests/it/timeline.rs."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import BuiltinClock, Trace, TrackEvent

import flashtwin as ft
from flashtwin.errors import ArgumentError, ConfigError, OutputError
from flashtwin.results import names, schema

from . import tiny
from .conftest import Cli

CHARGES = [name for name in schema.TABLES[names.REQUESTS] if name.endswith("_ns")][3:]
#: Collection and hashing; copies that are read in a closed loop; suspension; a front end and several planes at once.
CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "collecting": ("ca-ssd", {}),
    "closed loop": ("rr-ssd", {"queue_depth": 16}),
    "suspending": ("conventional", {"suspend": "program-erase", "suspend_us": 20}),
    "front end": ("conventional", {"slots": 8, "link_mb_s": 500, "multi_plane": "any-page"}),
    "transferred": ("rr-ssd", {"write_completes": "transferred", "hash_lanes": 2}),
}


@dataclass
class Slice:
    track: tuple[str, str]
    name: str
    category: str
    begin_ns: int
    end_ns: int = 0
    args: dict[str, Any] = field(default_factory=dict)
    around: "Slice | None" = None

    @property
    def ns(self) -> int:
        return self.end_ns - self.begin_ns


class Timeline:
    """A file as Perfetto reads it: names looked up, events sorted by time, slices of a track on a stack."""

    def __init__(self, path: Path) -> None:
        self.packets = Trace.FromString(path.read_bytes()).packet
        self.names: dict[str, dict[int, str]] = defaultdict(dict)
        self.tracks: dict[int, tuple[str, str]] = {}
        groups: dict[int, str] = {}
        for packet in self.packets:
            for kind in ("event_categories", "event_names", "debug_annotation_names"):
                self.names[kind] |= {one.iid: one.name for one in getattr(packet.interned_data, kind)}
            texts = packet.interned_data.debug_annotation_string_values
            self.names["texts"] |= {one.iid: one.str.decode() for one in texts}
            track = packet.track_descriptor
            if track.HasField("process"):
                groups[track.uuid] = track.process.process_name
            elif packet.HasField("track_descriptor"):
                self.tracks[track.uuid] = (groups[track.parent_uuid], track.name)
        self.slices = list(self._paired())

    def _paired(self) -> Iterator[Slice]:
        stacks: dict[int, list[Slice]] = defaultdict(list)
        events = [packet for packet in self.packets if packet.HasField("track_event")]
        for packet in sorted(events, key=lambda packet: packet.timestamp):
            event, stack = packet.track_event, stacks[packet.track_event.track_uuid]
            if event.type == TrackEvent.TYPE_SLICE_END:
                ended = stack.pop()
                ended.end_ns = packet.timestamp
                yield ended
                continue
            begun = self._begun(packet)
            begun.around = stack[-1] if stack else None
            if event.type == TrackEvent.TYPE_INSTANT:
                yield begun
            else:
                stack.append(begun)
        assert not any(stacks.values())

    def _begun(self, packet: Any) -> Slice:
        event = packet.track_event
        args = {}
        for one in event.debug_annotations:
            value = getattr(one, one.WhichOneof("value"))
            args[self.names["debug_annotation_names"][one.name_iid]] = (
                self.names["texts"][value] if one.HasField("string_value_iid") else value
            )
        return Slice(
            self.tracks[event.track_uuid],
            self.names["event_names"][event.name_iid],
            self.names["event_categories"][event.category_iids[0]],
            packet.timestamp,
            packet.timestamp,
            args,
        )

    def of(self, group: str, *, inside: bool = False) -> list[Slice]:
        return [one for one in self.slices if one.track[0] == group and (one.around is not None) == inside]


@dataclass
class Drawn:
    result: ft.Result
    timeline: Timeline
    path: Path


@pytest.fixture(scope="module", params=CASES)
def drawn(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Drawn:
    system, keys = CASES[request.param]
    path = tmp_path_factory.mktemp("timelines") / "run.pftrace"
    settings = {**tiny.DRIVE, **({"replay.speed": 1.0} if "queue_depth" in keys else {})}
    result = ft.replay(tiny.trace(), system, settings=settings, fill=tiny.FILL, per_request=True, timeline=path, **keys)
    return Drawn(result, Timeline(path), path)


def rows(result: ft.Result, table: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = pa.table(result.table(table)).to_pylist()
    return found


def test_packets_have_one_sequence_and_a_known_clock(drawn: Drawn) -> None:
    first = drawn.timeline.packets[0]
    assert first.trace_packet_defaults.timestamp_clock_id == BuiltinClock.BUILTIN_CLOCK_BOOTTIME
    assert (first.sequence_flags, first.first_packet_on_sequence) == (1, True)
    assert {packet.trusted_packet_sequence_id for packet in drawn.timeline.packets} == {1}
    assert {packet.sequence_flags for packet in drawn.timeline.packets[1:]} == {2}


def test_requests_and_their_parts_are_those_of_the_table(drawn: Drawn) -> None:
    inside: dict[int, list[Slice]] = defaultdict(list)
    for part in drawn.timeline.of("host", inside=True):
        inside[id(part.around)].append(part)
    table = {row["request"]: row for row in rows(drawn.result, names.REQUESTS)}
    requests = drawn.timeline.of("host")
    assert sorted(one.args["request"] for one in requests) == sorted(table)
    for one in requests:
        row = table[one.args["request"]]
        assert (one.name, one.begin_ns, one.ns) == (row["op"], row["arrival_ns"], row["response_ns"] or 0)
        assert (one.args["pages"], one.args["time_ns"]) == (row["pages"], row["time_ns"])
        assert (one.args.get("chip"), one.args.get("redirected", False)) == (row["chip"], row["redirected"])
        parts = inside[id(one)]
        assert sum(part.ns for part in parts) == one.ns
        assert {part.name: part.ns for part in parts} == {
            name.removesuffix("_ns"): row[name] for name in CHARGES if row[name]
        }


def test_commands_are_as_many_as_the_flash_carried_out(drawn: Drawn) -> None:
    done: Counter[str] = Counter()
    for one in drawn.timeline.of("dies"):
        if not one.args.get("suspended"):
            done[one.name] += one.args.get("operations", 1)
    summary = drawn.result.summary
    reads, programs = summary["flash_reads"], summary["flash_writes"]
    collected = drawn.timeline.of("garbage collection")
    shown = [done["GC read"], done["GC program"], done["erase"]]
    counted = [reads["gc"], programs["gc"], summary["erases"]["total"]]
    if summary["replication"]["passes"]:
        # Between two periods the drive is off line, and its work takes no time.
        assert all(0 < one <= all_of_them for one, all_of_them in zip(shown, counted, strict=True))
    else:
        assert shown == counted
        assert len(collected) == done["erase"] > 0
        assert sum(one.args["pages_read"] for one in collected) == reads["gc"]


def test_bytes_are_the_same_streamed_and_nothing_else_differs(tmp_path: Path) -> None:
    tiny.trace().write_parquet(tmp_path / "trace.parquet")
    settings = {**tiny.DRIVE, "nand.blocks_per_plane": 400}
    held, streamed = tmp_path / "held.pftrace", tmp_path / "streamed.pftrace"
    drawn = ft.replay(ft.open(tmp_path / "trace.parquet"), "rr-ssd", settings=settings, timeline=held)
    ft.replay(ft.scan(tmp_path / "trace.parquet"), "rr-ssd", settings=settings, timeline=streamed)
    assert held.read_bytes() == streamed.read_bytes()
    plain = ft.replay(ft.open(tmp_path / "trace.parquet"), "rr-ssd", settings=settings)
    assert plain.summary == drawn.summary
    assert sorted(path.name for path in tmp_path.iterdir()) == ["held.pftrace", "streamed.pftrace", "trace.parquet"]


def test_what_cannot_be_drawn_is_refused_with_place_and_cure(tmp_path: Path) -> None:
    path = tmp_path / "run.pftrace"
    for keys, error, text in (
        ({"timeline_from_s": 3}, ArgumentError, 'timeline_from_s says .*; name its file: timeline="run.pftrace"'),
        ({"timeline_to_s": 3}, ArgumentError, "timeline_to_s says"),
        ({"timeline": path, "timeline_from_s": 4, "timeline_to_s": 3}, ArgumentError, "begin at 4 s and to end at 3 s"),
        ({"timeline": path, "timeline_from_s": -1}, ArgumentError, "from 0 on"),
        ({"timeline": path, "timeline_from_s": float("nan")}, ArgumentError, "from 0 on"),
        ({"timeline": tmp_path}, OutputError, "is a folder; name a file"),
        ({"timeline": tmp_path / "no" / "run.pftrace"}, OutputError, "there is no folder .*; make it"),
        ({"timeline": path, "timeline_from_s": 1e6}, ConfigError, "the run ended at .* s: let it begin before that"),
    ):
        with pytest.raises(error, match=text):
            ft.replay(tiny.trace(200), "conventional", **keys)
    assert not list(tmp_path.iterdir())


def test_on_the_command_line(cli: Cli, small_trace: Path, tmp_path: Path) -> None:
    refused = cli("replay", small_trace, "--system", "ca-ssd", "--timeline-to", "1s", status=2)
    assert "--timeline-to says which part of a timeline is wanted; name its file with --timeline" in refused.err
    line = ("replay", small_trace, "--system", "ca-ssd", "--timeline-from", "0.05s", "--timeline-to", "0.1s")
    done = cli(*line, "--timeline", "one.pftrace", status=0)
    assert "timeline: one.pftrace; open it at https://ui.perfetto.dev" in done.err
    for again in range(2):
        # A run that is there is made again: its timeline is not kept.
        cli(*line, "--timeline", f"again-{again}.pftrace", "--out", "out", "--threads", "2", status=0)
        assert (tmp_path / f"again-{again}.pftrace").read_bytes() == (tmp_path / "one.pftrace").read_bytes()
    assert len(Timeline(tmp_path / "one.pftrace").of("host")) == 501
