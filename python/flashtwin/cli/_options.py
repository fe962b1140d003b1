"""Options that several verbs share, and their translation for the core."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import click

from flashtwin.cli import _types
from flashtwin.cli._bridge import Shared
from flashtwin.cli._talk import say
from flashtwin.cli._types import Text
from flashtwin.errors import FlashtwinError
from flashtwin.progress import Progress
from flashtwin.replays.presets import System, resolve_text
from flashtwin.replays.running import fitted
from flashtwin.results.keys import K
from flashtwin.sweeps.plan import shard
from flashtwin.traces.scan import Replayable

TracePath = Annotated[str, Shared(metavar="TRACE")]
TracePaths = Annotated[str, Shared(metavar="TRACE...")]
Output = Annotated[Path, click.Path(path_type=Path, dir_okay=False), Shared(metavar="OUTPUT.parquet")]
#: A file that is written or read, not a folder.
File = Annotated[Path, click.Path(path_type=Path, dir_okay=False)]
Folder = Annotated[Path, click.Path(path_type=Path, file_okay=False)]

AcrossTraces = Annotated[bool, Shared("Compare saved results even if their traces differ.")]
_SEED = Shared("Seed of random choices. Example: --seed 7", "N")
AnySeed = Annotated[int, _SEED]
Seed = Annotated[int, click.IntRange(min=0), _SEED]
_DEVICE = "NAND device: a name of `flashtwin devices`, or a TOML file. Example: --device rr-ssd"
Device = Annotated[str, Shared(_DEVICE, "NAME")]
_EFFORT = "Budget of extra replays, in page operations; 0: none, all: no limit. Example: --effort 1G"
Effort = Annotated[int, Text(_types.effort, lambda pages: f"{pages // 10**6}M"), Shared(_EFFORT, "N")]
_GROUND = (
    "Give all systems the baseline's device, engine, allocation, collection and replay keys, so that only their "
    "mechanisms differ."
)
EqualGround = Annotated[bool, Shared(_GROUND)]
Force = Annotated[bool, Shared("Replace output files that exist.")]
_GOAL = (
    "Figure to make better: any of a run, or time for the whole trace; a study takes a second one after a comma. "
    "Example: --goal read.p99  "
    "[default: all.mean; time in a closed loop]"
)
Goal = Annotated[str, Text(_types.goal), Shared(_GOAL, "FIGURE")]
Json = Annotated[bool, Shared("Print JSON.")]
_ON = (
    "Run on a Dask cluster: dask://HOST:8786, or dask:FILE, its scheduler file. Needs `make extras`. "
    "Example: --on dask://node1:8786"
)
On = Annotated[str, Shared(_ON, "ADDRESS")]
_PER_REQUEST = "Also write each request, with the parts of its response time, to the run's `requests.parquet`."
PerRequest = Annotated[bool, Shared(_PER_REQUEST)]
_REPORT = "Write the HTML report, which takes seconds. `flashtwin report DIR` writes it later."
Report = Annotated[bool, Shared(_REPORT)]
_SHARD = "Do part I of N, for example in a Slurm array; all parts may share one folder. Example: --shard 2/8"
Shard = Annotated[tuple[int, int], Text(shard), Shared(_SHARD, "I/N")]
_SETS = "Set a configuration key; repeatable. Example: --set hash_lanes=4"
Sets = Annotated[tuple[Annotated[tuple[str, str], Text(_types.key_value)], ...], Shared(_SETS, "KEY=VALUE")]
Share = Annotated[float, Text(_types.share)]
_STREAM = (
    "Read the file again for each replay instead of keeping it in memory; same results. Automatic if the trace "
    "does not fit in memory."
)
Stream = Annotated[bool, Shared(_STREAM)]
_SYSTEMS = "Systems, by name or TOML file; the first is the baseline. Example: --systems conventional,rr-ssd"
Systems = Annotated[tuple[str, ...], Text(_types.systems, ",".join), Shared(_SYSTEMS, "A,B,...")]
_WORKERS = "Jobs to run at once; 0: one per core. Example: --workers 4"
Workers = Annotated[int, click.IntRange(min=0), Shared(_WORKERS, "N")]


def expect_new(file: Path, endings: Sequence[str], why: str = "", *, force: bool) -> None:
    """Refuses a file that cannot be written, before any long work."""
    if file.suffix not in endings:
        raise FlashtwinError(f"{file}: the name must end in {' or '.join(endings)}{why}")
    if (file.exists() or file.is_symlink()) and not force:
        raise FlashtwinError(f"{file}: exists; give --force to replace it")
    if not file.absolute().parent.is_dir():
        raise FlashtwinError(f"{file}: there is no folder '{file.parent}'; make it first")


@dataclass(frozen=True, kw_only=True)
class ReplayOptions:
    """How to replay it.

    Attributes:
        period_s: Period length; popular contents are copied when one ends. Traces under 3 days get about 8 periods of
            a round length, such as 15 min for 2 h. Example: --period 1h [default: 1d]
        warm_up_s: Count requests that arrive this long after the first one, and operations from then on. The drive goes
            on as it is. Example: --warm-up 10m
        speed (X): Replay X times as fast as recorded. Example: --speed 10
        queue_depth (N): Ignore recorded times; keep N requests outstanding. Example: --queue-depth 32
        fill: Shrink the drive until the trace fills this share of it, so that garbage collection runs.
            Example: --fill 90% [default: the device's full size]
        aged: Age the drive first: overwrite the trace's pages at random until write amplification settles.
        content (SOURCE): Page contents: recorded, unique (all writes differ), same-as-address, or zipf(A,N[,SEED]): N
            values with Zipf exponent A. Example: --content 'zipf(1.1,10000)'
        verify: Check each step against a reference model, and the tables against each other; slow.
        threads (N): Systems to replay at once; 0: one per core. Example: --threads 2
    """

    set: Sets = ()
    period_s: float | None = None
    warm_up_s: float | None = None
    speed: str | None = None
    queue_depth: Annotated[str, Text(_types.queue_depths)] | None = None
    fill: Share | None = None
    aged: bool = False
    content: str | None = None
    verify: bool = False
    threads: Annotated[int, click.IntRange(min=0)] = 0

    def on(self, device: str | None) -> ReplayOptions:
        return self if device is None else replace(self, set=(("device", device), *self.set))

    @property
    def sets(self) -> list[tuple[str, str]]:
        """Keys with values: those of `--set`, then those that have an option of their own."""
        short = {
            K.replay.speed: self.speed,
            K.replay.queue_depth: self.queue_depth,
            K.replay.period_s: self.period_s,
            K.replay.warm_up_s: self.warm_up_s,
            K.replay.content: self.content,
            "verify": "true" if self.verify else None,
            K.replay.preload: "footprint" if self.aged else None,
        }
        return [*self.set, *((key, str(value)) for key, value in short.items() if value is not None)]

    def system(self, name: str) -> System:
        return resolve_text(name, self.sets)

    def fitted(
        self, trace: Replayable, systems: Mapping[str, System], progress: Progress | None = None
    ) -> dict[str, System]:
        return fitted(trace, systems, self.fill, say, progress)
