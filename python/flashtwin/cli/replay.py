"""`flashtwin replay`: one trace on one system."""

from dataclasses import dataclass
from pathlib import Path

import click

from flashtwin.cli._bridge import verb
from flashtwin.cli._options import Device, Json, PerRequest, ReplayOptions, Stream, TracePath
from flashtwin.cli._replaying import choose, replay_all, show
from flashtwin.cli._talk import say
from flashtwin.replays.timelines import Timeline, wanted
from flashtwin.traces.reading import Reading, Source


@dataclass(frozen=True)
class TimelineOptions:
    """The timeline to draw, if any.

    Attributes:
        timeline (FILE): Also write a timeline of channels, dies, hash unit, garbage collection and requests; open it
            at https://ui.perfetto.dev. Example: --timeline run.pftrace
        timeline_from_s: Start the timeline at this time of the drive; with --speed 10, a tenth of the trace's.
            Example: --timeline-from 3s
        timeline_to_s: End the timeline at this time of the drive. Example: --timeline-to 4s
    """

    timeline: Path | None = None
    timeline_from_s: float | None = None
    timeline_to_s: float | None = None

    @property
    def drawn(self) -> Timeline | None:
        if self.timeline is None and (self.timeline_from_s is not None or self.timeline_to_s is not None):
            flag = "--timeline-from" if self.timeline_from_s is not None else "--timeline-to"
            raise click.UsageError(
                f"{flag} says which part of a timeline is wanted; name its file with --timeline run.pftrace"
            )
        return wanted(self.timeline, self.timeline_from_s, self.timeline_to_s)


@verb()
def replay(
    path: TracePath,
    *,
    reading: Reading,
    system: str,
    device: Device | None = None,
    running: ReplayOptions,
    per_request: PerRequest = False,
    timeline: TimelineOptions,
    stream: Stream = False,
    out: Path | None = None,
    json: Json = False,
) -> None:
    """Replay TRACE on one system and print its figures: response times, throughput, write amplification.

    \b
    Examples:
      flashtwin replay mail.fiu.zst --system rr-ssd --set hash_lanes=4
      flashtwin replay mail.fiu.zst --system rr-ssd --timeline run.pftrace --timeline-from 3s --timeline-to 4s

    Args:
        system (NAME): System: a name of `flashtwin systems`, or a TOML file. Example: --system rr-ssd
        out (DIR): Folder for summary and tables. Example: --out mail-run [default: print the figures only]
    """
    drawn, running = timeline.drawn, running.on(device)
    chosen = choose(running, [system])
    source = Source(path, reading)
    if drawn is not None and (reading.from_s is not None or reading.to_s is not None):
        say("--from and --to cut the trace itself; --timeline-from and --timeline-to choose a part of the timeline")
    show(replay_all(source, running, chosen, out, stream=stream, per_request=per_request, timeline=drawn), as_json=json)
