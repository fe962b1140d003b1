"""The files of results: how they are called, and where in a result folder they lie.

No other module of the package knows a file's name; a test looks.

    OUT/study.json          the trace in numbers, the runs in order, the baseline
    OUT/runs/NAME/          summary.json and tables of one run
    OUT/characterization.json, advice.json
    OUT/workload/           tables about the trace
    OUT/causes/             the bottleneck of each system, and the replays behind it
    OUT/candidates.json     how the candidates were found: each a system with its best settings
    OUT/candidates/         their runs, as above
    OUT/grounds/NAME/       the candidates on another drive or under another load; grounds.json
    OUT/volumes/NAME/       each volume by itself, where that was asked for; names.json
    OUT/earlier/NAME (KEY=VALUE)/   a run that another of its name, with other settings, has replaced
    OUT/report.html, charts/

Many characterized traces:

    OUT/traces/NAME/        as above, without runs
    OUT/traces.parquet, distributions.parquet, traces.json, failures.json
    OUT/report.html, charts/

The papers, published beside measured:

    OUT/reproduction.json, reproduction.md, claims.csv
    OUT/report.html, charts/

A drive that was served:

    OUT/served.json         figures of a served drive; beside it, with --twin-time, twin/, the results of a run

A sweep, and the store of its runs, which several may share:

    OUT/sweep.json          the points in order: trace, system, settings, the key of the run
    OUT/sweep.parquet       a row for each point
    OUT/report.html, charts/
    STORE/runs/KEY[:2]/KEY.json     the summary of a run; KEY.tables/ its tables, where they were asked for
    STORE/traces/KEY.json           facts of a file, so that it need not be read again
"""

import re
from pathlib import Path

STUDY = "study.json"
RUNS = "runs"
EARLIER = "earlier"
SUMMARY = "summary.json"
CHARACTERIZATION = "characterization.json"
ADVICE = "advice.json"
WORKLOAD = "workload"
VOLUMES = "volumes"
CAUSES = "causes"
CANDIDATES = "candidates.json"
#: The folder of the candidates' runs, and of those on other grounds with the table of choices.
AT_BEST = "candidates"
GROUNDS = "grounds"
CHOICES = "grounds.json"
#: In the folder of causes: the figures of every replay, by all that it depends on.
REPLAYS = "replays.json"
#: Measurements of a drive, or of its twin (docs/fit.md), and how the drive names itself.
LATENCY = "latency.csv"
WRITE_AMPLIFICATION = "write-amplification.csv"
STEADY_WRITES = "steady-writes.csv"
DRIVE_IDENTITY = "drive.json"
#: The ending of a bottleneck's file, after the run's name.
EXPLAINED = ".explained.json"
#: In the folder of volumes: the folder of each, by its name.
VOLUME_NAMES = "names.json"

TRACES = "traces"
#: The file that marks a folder of many characterized traces.
COLLECTION = "traces.json"
FAILURES = "failures.json"
#: Tables of many traces: a row for each, and the distributions over them.
TRACE_ROWS, DISTRIBUTIONS = "traces", "distributions"

REPRODUCTION = "reproduction.json"
CLAIMS = "claims.csv"
REPRODUCTION_PAGE = "reproduction.md"

#: What makes a folder a sweep, its table, and where its runs lie unless another place is named.
SWEEP = "sweep.json"
SWEEP_ROWS = "sweep"
STORE = "store"

REPORT = "report.html"
CHARTS = "charts"

REQUESTS = "requests"

#: Stands in a folder until its results are complete. A full disk or a kill leaves it, and the same command goes on.
UNFINISHED = ".unfinished"
#: The input of each finished run, so that the same run need not be made again.
MADE_FROM = ".made-from.json"
#: The same for a characterization.
CHARACTERIZED_FROM = ".characterized-from.json"

TABLE = ".parquet"

SERVED = "served.json"

#: Endings of files that lie beside traces and are none.
NOT_TRACES = (".md", ".json", ".html", ".toml")

#: The file that marks a folder of an explained trace, without runs.
EXPLAINED_FROM = ".explained-from.json"


def run(path: Path, name: str) -> Path:
    return path / RUNS / name


def stored_run(store: Path, key: str) -> Path:
    """The file of a run of a store. Folders of 256 kinds keep any one of them small."""
    return store / RUNS / key[:2] / f"{key}.json"


def stored_tables(store: Path, key: str) -> Path:
    return stored_run(store, key).with_suffix(".tables")


def stored_trace(store: Path, key: str) -> Path:
    return store / TRACES / f"{key}.json"


def stored_requests(store: Path, digest: str, name: str) -> Path:
    """The file of a store that holds a trace which had none."""
    return store / TRACES / digest[:32] / f"{file_name(name)}{TABLE}"


def explained_file(path: Path, name: str) -> Path:
    return path / CAUSES / f"{file_name(name)}{EXPLAINED}"


def explained(path: Path) -> list[Path]:
    """The files with the bottlenecks of runs, in the order of their names."""
    return sorted((path / CAUSES).glob(f"*{EXPLAINED}"))


def part_of(trace: str, volume: str | None, from_s: float | None = None, to_s: float | None = None) -> str:
    parts = [trace]
    parts += [] if volume is None else [file_name(volume)]
    parts += [] if from_s is None else [f"from-{from_s:g}s"]
    parts += [] if to_s is None else [f"to-{to_s:g}s"]
    return "-".join(parts)


def table(path: Path, name: str) -> Path:
    return path / f"{name}{TABLE}"


def tables(path: Path) -> dict[str, Path]:
    """The files of all tables in a folder, by the tables' names, in the order of these."""
    return {file.stem: file for file in sorted(path.glob(f"*{TABLE}")) if not file.name.startswith(".")}


def file_name(name: str) -> str:
    """A name without letters that are unsafe in file names."""
    return re.sub(r"[^A-Za-z0-9_.,@+-]", "-", name).lstrip(".") or "volume"
