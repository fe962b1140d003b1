"""`flashtwin fit`: a twin of a drive you own, from your measurements."""

from pathlib import Path
from typing import Annotated

import click

from flashtwin.cli._bridge import verb
from flashtwin.cli._fitting import as_json, show, written
from flashtwin.cli._options import File, Force, Json, Seed, expect_new
from flashtwin.cli._talk import data, data_json, say
from flashtwin.cli._types import Text, byte_count
from flashtwin.drives import jobs as experiments
from flashtwin.drives.fit import expect_scipy, fit_measured
from flashtwin.drives.results import read_results
from flashtwin.errors import ArgumentError, FlashtwinError
from flashtwin.results.folder import write_texts

#: Least bytes of a drive that the experiments use.
_LEAST = 16 << 20
#: The command that runs when none is named.
_RESULTS = "RESULTS"


class _Fit(click.Group):
    """`fit jobs` is a command of its own; anything else is the folder to fit."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Puts the command in front of a folder or of an option."""
        if args and args[0] not in ("jobs", "-h", "--help"):
            args = [_RESULTS, *args]
        return super().parse_args(ctx, args)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        """A folder's name stands for the command that fits it."""
        return super().get_command(ctx, name if name == "jobs" else _RESULTS)


def capacity(text: str) -> int:
    """Bytes of a drive: `960G`, `512M`, `2T`, in powers of 1,024."""
    size = byte_count(text) or 0
    if not _LEAST <= size < 1 << 60:
        raise ArgumentError(f"'{text}' is no size of a drive, 16M or more; write it like 512G or 1T")
    return size


@click.group(cls=_Fit)
def fit() -> None:
    """Fit a twin to a drive you own. The result is a device file for `--device`.

    \b
    Example:
      flashtwin fit jobs > probe.sh                                     # only reads
      flashtwin fit jobs --destroys-data /dev/nvme1n1 > probe-all.sh    # all experiments
      sudo bash probe-all.sh results
      flashtwin fit results --out my-drive.toml
      flashtwin replay mail.fiu.zst --system rr-ssd --set device=my-drive.toml
    """


@verb("Print the experiments, as a script of fio jobs.", fit)
def jobs(
    *,
    destroys_data: str | None = None,
    size: Annotated[int, Text(capacity)] | None = None,
    seconds: Annotated[int, click.IntRange(min=1, max=86_400)] = 60,
    overwrites: Annotated[float, click.FloatRange(min=0.5, max=100)] = 4.0,
) -> None:
    """Print a shell script that measures a drive with fio and nvme-cli, for `flashtwin fit`.

    Without --destroys-data it only reads. Comments in the script give purpose and duration of each experiment. Run it
    as root on the machine with the drive; flashtwin is not needed there.

    \b
    Example:
      flashtwin fit jobs > probe.sh
      flashtwin fit jobs --destroys-data /dev/nvme1n1 > probe-all.sh

    Args:
        destroys_data (DEVICE): Also print the experiments that write; the script ERASES this device.
            Example: --destroys-data /dev/nvme1n1
        size (BYTES): Use only this part of the drive, which leaves more spare space. Example: --size 512G
            [default: all]
        seconds (N): Seconds per timed job. Example: --seconds 30
        overwrites (X): Times to overwrite the drive at random; fewer than 3 miss the steady state.
            Example: --overwrites 5
    """
    plan = experiments.ProbePlan(destroys_data, size, seconds, overwrites)
    data(experiments.script(plan).rstrip("\n"))
    if destroys_data is None:
        say("these jobs only read; `flashtwin fit jobs --destroys-data DEVICE` prints all, which erase DEVICE")
    else:
        say(f"warning: the script destroys all data on {destroys_data}")


@verb("Fit a twin to results.", fit, _RESULTS)
def results(
    place: Path | None = None,
    *,
    drive: str | None = None,
    out: File | None = None,
    force: Force = False,
    report: File | None = None,
    every_other: bool = False,
    predict: Path | None = None,
    skip_bad: bool = False,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Fit a twin to RESULTS: the folder from the script of `flashtwin fit jobs`, or tidy CSV files, or both.

    You get a table of keys with value, interval and experiment, then measured and predicted figures. Some experiments
    determine only some keys; a device file needs open-loop measurements at two rates or more. It takes 1 to 5 minutes
    and needs SciPy (`make extras`).

    \b
    Example:
      flashtwin fit results --out my-drive.toml
      flashtwin fit results --every-other --report errors.md
      flashtwin fit latency.csv --drive sk-hynix-pe8110-960 --json

    Args:
        place (): The results.
        drive (NAME): Drive to fit, if the results hold several. Example: --drive sk-hynix-pe8110-960
        out (FILE.toml): Device file to write. Example: --out my-drive.toml [default: the drive's name]
        report (FILE.md): File for measured and predicted figures, .md or .csv. Example: --report errors.md
        every_other: Test the twin: fit on every other rate and pattern and the lowest and highest fill, and predict
            the rest.
        predict (MORE): Test the twin: predict more results of the same drive. Example: --predict more-results
        skip_bad: Skip unusable experiments, with a message each.
    """
    if place is None:
        raise click.UsageError("name the folder of the results; `flashtwin fit jobs` prints a script that makes it")
    expect_scipy()
    if report is not None:
        expect_new(report, (".md", ".csv"), force=force)
    if out is not None:
        expect_new(out, (".toml",), force=force)
    measured = read_results(place, drive, say, skip_bad=skip_bad)
    out = out or Path(f"{measured.drive}.toml")
    expect_new(out, (".toml",), force=force)
    more = None if predict is None else read_results(predict, measured.drive, say, skip_bad=skip_bad)
    done = fit_measured(measured, more, every_other=every_other, seed=seed, notify=say)
    device = {} if done.fitted is None else {out: done.fitted.toml}
    texts = device if report is None else {report: written(done, report.suffix), **device}
    write_texts(texts)
    data_json({**as_json(done), "device": None if done.fitted is None else str(out)}) if json else show(done)
    for file in texts:
        say(f"wrote {file}")
    if done.why is not None:
        raise FlashtwinError(f"{place}: no device file: {done.why}")
