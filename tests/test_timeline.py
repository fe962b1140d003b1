"""Timelines, read back with Perfetto's own classes; what holds of any run is in crates/sim/tests/it/timeline.rs."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import BuiltinClock, Trace, TrackEvent

import flashtwin as ft
from flashtwin.errors import ArgumentError, ConfigError, OutputError
from flashtwin.results import names

from . import tiny
from .conftest import Cli


@dataclass
class Slice:
    track: tuple[str, str]
    name: str
    category: str
    begin_ns: int
    end_ns: int
    args: dict[str, Any]
    depth: int


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
            begun = self._begun(packet, len(stack))
            if event.type == TrackEvent.TYPE_INSTANT:
                yield begun
            else:
                stack.append(begun)
        assert not any(stacks.values())

    def _begun(self, packet: Any, depth: int) -> Slice:
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
            depth,
        )

    @property
    def requests(self) -> list[Slice]:
        return [one for one in self.slices if one.track[0] == "host" and not one.depth]


@pytest.mark.parametrize(("system", "keys"), [("ca-ssd", {}), ("rr-ssd", {"queue_depth": 16, "speed": 1.0})])
def test_perfetto_reads_clock_and_requests(system: str, keys: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "run.pftrace"
    settings = {**tiny.DRIVE, **{f"replay.{key}": value for key, value in keys.items()}}
    result = ft.replay(tiny.trace(), system, settings=settings, fill=tiny.FILL, per_request=True, timeline=path)
    drawn = Timeline(path)
    first, *others = drawn.packets
    assert first.trace_packet_defaults.timestamp_clock_id == BuiltinClock.BUILTIN_CLOCK_BOOTTIME
    assert (first.sequence_flags, first.first_packet_on_sequence) == (1, True)
    assert {packet.trusted_packet_sequence_id for packet in drawn.packets} == {1}
    assert {packet.sequence_flags for packet in others} == {2}
    table = {row["request"]: row for row in pa.table(result.table(names.REQUESTS)).to_pylist()}
    assert sorted(one.args["request"] for one in drawn.requests) == sorted(table)
    for one in drawn.requests:
        row = table[one.args["request"]]
        end_ns = row["arrival_ns"] + (row["response_ns"] or 0)
        assert (one.name, one.begin_ns, one.end_ns) == (row["op"], row["arrival_ns"], end_ns)
        assert (one.args["pages"], one.args["time_ns"]) == (row["pages"], row["time_ns"])
        assert (one.args.get("chip"), one.args.get("redirected", False)) == (row["chip"], row["redirected"])


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
    assert "--from and --to" not in done.err
    cut = cli("replay", small_trace, "--system", "ca-ssd", "--to", "0.1s", "--timeline", "cut.pftrace", status=0)
    assert "--from and --to cut the trace itself" in cut.err
    assert "timeline: one.pftrace; open it at https://ui.perfetto.dev" in done.err
    for again in range(2):
        # A run that is there is made again: its timeline is not kept.
        cli(*line, "--timeline", f"again-{again}.pftrace", "--out", "out", "--threads", "2", status=0)
        assert (tmp_path / f"again-{again}.pftrace").read_bytes() == (tmp_path / "one.pftrace").read_bytes()
    assert len(Timeline(tmp_path / "one.pftrace").requests) == 501
