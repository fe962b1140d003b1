"""`flashtwin fit`: a twin of a drive you own, from your measurements."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import click

from flashtwin.cli._fitting import as_json, show, written
from flashtwin.cli._options import force_option, json_option, seed_option
from flashtwin.cli._talk import data, data_json, say
from flashtwin.drives import jobs as experiments
from flashtwin.drives.fit import DriveFit, expect_scipy, fit_measured
from flashtwin.drives.results import read_results
from flashtwin.errors import FlashtwinError
from flashtwin.results.folder import write_text

_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
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


class Capacity(click.ParamType[int]):
    """Bytes of a drive: `960G`, `512M`, `2T`, in powers of 1,024."""

    name = "capacity"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Reads the text."""
        parts = re.fullmatch(r"(\d{1,18})\s*([KMGT]?)(?:i?B)?", str(value).strip(), re.IGNORECASE)
        found = int(parts[1]) * _UNITS[parts[2].upper()] if parts else 0
        if not _LEAST <= found < 1 << 60:
            self.fail(f"'{value}' is no size of a drive, 16M or more; write it like 512G or 1T", param, ctx)
        return found


@click.group(cls=_Fit, short_help="Fit a twin to your drive, from fio results.")
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


@fit.command(short_help="Print the experiments, as a script of fio jobs.")
@click.option(
    "--destroys-data", "device", metavar="DEVICE",
    help="Also print the experiments that write; the script ERASES this device. Example: --destroys-data /dev/nvme1n1",
)  # fmt: skip
@click.option(
    "--size", type=Capacity(), metavar="BYTES",
    help="Use only this part of the drive, which leaves more spare space. Example: --size 512G  [default: all]",
)  # fmt: skip
@click.option(
    "--seconds", type=click.IntRange(min=1, max=86_400), default=60, show_default=True,
    metavar="N", help="Seconds per timed job. Example: --seconds 30",
)  # fmt: skip
@click.option(
    "--overwrites", type=click.FloatRange(min=0.5, max=100), default=4.0, show_default=True,
    metavar="X",
    help="Times to overwrite the drive at random; fewer than 3 miss the steady state. Example: --overwrites 5",
)  # fmt: skip
def jobs(device: str | None, size: int | None, seconds: int, overwrites: float) -> None:
    """Print a shell script that measures a drive with fio and nvme-cli, for `flashtwin fit`.

    Without --destroys-data it only reads. Comments in the script give purpose and duration of each experiment. Run it
    as root on the machine with the drive; flashtwin is not needed there.

    \b
    Example:
      flashtwin fit jobs > probe.sh
      flashtwin fit jobs --destroys-data /dev/nvme1n1 > probe-all.sh
    """
    plan = experiments.ProbePlan(device, size, seconds, overwrites)
    data(experiments.script(plan).rstrip("\n"))
    if device is None:
        say("these jobs only read; `flashtwin fit jobs --destroys-data DEVICE` prints all, which erase DEVICE")
    else:
        say(f"warning: the script destroys all data on {device}")


@fit.command(name=_RESULTS, short_help="Fit a twin to results.")
@click.argument("place", metavar="", type=click.Path(path_type=Path), required=False)
@click.option(
    "--drive", metavar="NAME", help="Drive to fit, if the results hold several. Example: --drive sk-hynix-pe8110-960"
)
@click.option(
    "--out", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE.toml",
    help="Device file to write. Example: --out my-drive.toml  [default: the drive's name]",
)  # fmt: skip
@force_option
@click.option(
    "--report", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE.md",
    help="File for measured and predicted figures, .md or .csv. Example: --report errors.md",
)  # fmt: skip
@click.option(
    "--every-other", is_flag=True,
    help="Test the twin: fit on every other rate and pattern and the lowest and highest fill, and predict the rest.",
)  # fmt: skip
@click.option(
    "--predict", type=click.Path(path_type=Path), metavar="MORE",
    help="Test the twin: predict more results of the same drive. Example: --predict more-results",
)  # fmt: skip
@click.option("--skip-bad", is_flag=True, help="Skip unusable experiments, with a message each.")
@seed_option(0)
@json_option
def results(
    place: Path | None, drive: str | None, out: Path | None, force: bool, report: Path | None, every_other: bool,
    predict: Path | None, skip_bad: bool, seed: int, as_json: bool,
) -> None:  # fmt: skip
    """Fit a twin to RESULTS: the folder from the script of `flashtwin fit jobs`, or tidy CSV files, or both.

    You get a table of keys with value, interval and experiment, then measured and predicted figures. Some experiments
    determine only some keys; a device file needs open-loop measurements at two rates or more. It takes 1 to 5 minutes
    and needs SciPy (`make extras`).

    \b
    Example:
      flashtwin fit results --out my-drive.toml
      flashtwin fit results --every-other --report errors.md
      flashtwin fit latency.csv --drive sk-hynix-pe8110-960 --json
    """
    if place is None:
        raise click.UsageError("name the folder of the results; `flashtwin fit jobs` prints a script that makes it")
    expect_scipy()
    _check(report, (".md", ".csv"), force=force)
    _check(out, (".toml",), force=force)
    measured = read_results(place, drive, say, skip_bad=skip_bad)
    out = out or Path(f"{measured.drive}.toml")
    _check(out, (".toml",), force=force)
    more = None if predict is None else read_results(predict, measured.drive, say, skip_bad=skip_bad)
    done = fit_measured(measured, more, every_other=every_other, seed=seed, notify=say)
    if done.fitted is not None:
        write_text(out, done.fitted.toml)
    if report is not None:
        write_text(report, written(done, report.suffix))
    data_json(_json(done, out)) if as_json else show(done)
    for file in (report, out if done.fitted is not None else None):
        if file is not None:
            say(f"wrote {file}")
    if done.why is not None:
        raise FlashtwinError(f"{place}: no device file: {done.why}")


def _json(done: DriveFit, out: Path) -> dict[str, Any]:
    return {**as_json(done), "device": None if done.fitted is None else str(out)}


def _check(file: Path | None, endings: tuple[str, ...], *, force: bool) -> None:
    """Refuses a file that cannot be written, before minutes of work."""
    if file is None:
        return
    if file.suffix not in endings:
        raise FlashtwinError(f"{file}: the name must end in {' or '.join(endings)}")
    if file.exists() and not force:
        raise FlashtwinError(f"{file}: exists; give --force to replace it, or another name")
    if not file.absolute().parent.is_dir():
        raise FlashtwinError(f"{file}: there is no folder '{file.parent}'; make it first")
