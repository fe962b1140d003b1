"""`flashtwin characterize`: the properties of workloads that matter to an SSD."""

from pathlib import Path

from flashtwin.characterization.measuring import Characterization
from flashtwin.cli._bridge import verb
from flashtwin.cli._characterizing import MeasuringOptions, show, show_batch
from flashtwin.cli._options import Json, On, Report, Shard, TracePaths, Workers
from flashtwin.cli._progress import Bars
from flashtwin.cli._talk import say
from flashtwin.results import names
from flashtwin.sweeps import batch, jobs
from flashtwin.traces.reading import Reading, Source


@verb()
def characterize(
    *paths: TracePaths,
    reading: Reading,
    measuring: MeasuringOptions,
    workers: Workers = 0,
    on: On | None = None,
    shard: Shard | None = None,
    report: Report = True,
    by_volume: bool = False,
    out: Path | None = None,
    json: Json = False,
) -> int:
    """Measure the properties of each TRACE that matter to an SSD (docs/characterization.md) and write a report.

    TRACE is a file, - for standard input, a folder, or the manifest of a split trace. Several traces get a folder each
    below DIR/traces, and DIR gets a table with a row per trace and the distributions. A trace that cannot be read is
    listed at the end (exit status 1). The same command with the same folder computes only missing results. After all
    parts of --shard, run once without it for statistics and report.

    A file with several volumes is one trace. With --by-volume, the folder volumes/ has each volume by itself, all in
    the same files, and statistics are about volumes, as in the SWC paper. --volume NAME writes the page of a volume.

    \b
    Example:
      flashtwin characterize mail.fiu.zst --out mail-workload
      flashtwin characterize huge.csv.gz --stream --sample 0.01
      flashtwin characterize traces/ --shard 2/8 --out all
      flashtwin characterize traces/ --workers 2 --partitions 1,4,8 --op 7,28 --no-report --out all

    Args:
        by_volume: Also characterize each volume of a file by itself.
        out (DIR): Folder for results and report. Example: --out mail-workload
            [default: the trace's name and -workload, or workloads]
    """
    how = jobs.JobOptions(measuring.options, reading, measuring.stream, by_volume, report)
    several = len(paths) > 1 or Path(paths[0]).is_dir() or Path(paths[0]).name == names.MANIFEST
    if not several and on is None and shard is None:
        source = Source(paths[0], reading)
        _one(source, how, out, as_json=json)
        return 0
    with Bars() as bars:
        heard = bars.named("characterizing", "traces")
        done = batch.run(paths, out or Path("workloads"), how, workers, on, shard, heard, say)
    show_batch(done, as_json=json)
    return 1 if done.failures else 0


def _one(source: Source, how: jobs.JobOptions, out: Path | None, *, as_json: bool) -> None:
    """One trace: its folder and its report, whether or not they were there before."""
    target = out or Path(f"{source.stem}-workload")
    job = jobs.Job.of(Path(source.path).name, source.path, target, how)
    if source.path != "-" and job.is_done:
        say(f"reusing {target}: same file, same options")
        found = Characterization.read(target)
    else:
        with Bars() as bars:
            found = jobs.do(job, bars.named("characterizing", "steps"))
    show(found, target, target / names.REPORT if how.report else None, as_json=as_json)
