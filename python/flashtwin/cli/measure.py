"""`flashtwin measure`: the experiments of a drive on a twin, in the same tables."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from flashtwin.cli._fitting import beside
from flashtwin.cli._options import Share, json_option, seed_option, set_option
from flashtwin.cli._talk import data, data_json, say, table
from flashtwin.drives import saving
from flashtwin.drives.fit import expect_scipy
from flashtwin.drives.results import read_results
from flashtwin.drives.tables import Measurements
from flashtwin.replays.presets import resolve_text


@click.command(short_help="Run the drive experiments of `fit` on a twin.")
@click.argument("drive", metavar="DRIVE")
@click.option(
    "--system",
    default="conventional",
    show_default=True,
    metavar="NAME",
    help="System on DRIVE: a name of `flashtwin systems`, or a TOML file. Example: --system rr-ssd",
)
@set_option
@click.option(
    "--predict",
    type=click.Path(path_type=Path),
    metavar="RESULTS",
    help="Repeat these measurements of a real drive and compare. Example: --predict results",
)
@click.option(
    "--of",
    "name",
    metavar="NAME",
    help="With --predict: the drive, if RESULTS has several. Example: --of sk-hynix-pe8110-960",
)
@click.option(
    "--fill",
    type=Share(),
    default="0.9",
    show_default=True,
    metavar="SHARE",
    help="Share of the physical space in use, without --predict. Example: --fill 80%",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Folder for the tables. Example: --out twin",
)
@seed_option(1, click.INT)
@json_option
def measure(
    drive: str, system: str, sets: tuple[tuple[str, str], ...], predict: Path | None, name: str | None, fill: float,
    out: Path | None, seed: int, as_json: bool,
) -> None:  # fmt: skip
    """Measure the twin of DRIVE: response times at offered rates, write amplification, rates of access patterns.

    DRIVE is a name of `flashtwin devices` or a TOML file, for example from `flashtwin fit`, which reads the same
    tables. It takes about a minute; with --predict, a few seconds per rate.

    \b
    Example:
      flashtwin measure my-drive.toml --out twin
      flashtwin measure my-drive.toml --predict results
    """
    expect_scipy()
    # SciPy takes a second to load.
    from flashtwin.drives import measuring

    chosen = resolve_text(system, [("device", drive), *sets])
    measured = read_results(predict, name, say) if predict else None
    if measured is None:
        found = measuring.measured_as_usual(chosen, fill, say, seed=seed)
    else:
        found = measuring.measure(chosen, measured, say, seed=seed)
    for path in saving.save(found, out) if out else ():
        say(f"wrote {path}")
    if measured is None:
        _show(found, as_json=as_json)
    else:
        _show_beside(measured, found, as_json=as_json)


def _show(found: Measurements, *, as_json: bool) -> None:
    if as_json:
        data_json(_plain(found))
        return
    kinds = ("read_us", "write_us")
    header = [
        "requests/s offered",
        "served",
        *(f"{kind[:-3]} p{share}, us" for kind in kinds for share in (50, 99, 99.9)),
    ]
    rows = [
        [f"{row.offered_per_s:,.0f}", f"{row.reads_per_s + row.writes_per_s:,.0f}",
         *(f"{getattr(row, kind)[share]:,.0f}" if share in getattr(row, kind) else "" for kind in kinds
           for share in ("50p", "99p", "99p9"))]
        for row in found.open_loop
    ]  # fmt: skip
    data(table(header, rows))
    closed = [(f"{row.pattern} at {row.fill_gib:,.0f} GiB", row.amplification, row.writes_per_s) for row in
              found.overwritten]  # fmt: skip
    data("")
    data(table(["written, closed loop", "write amplification", "writes/s"],
               [[name, f"{wa:.2f}", f"{per_s:,.0f}"] for name, wa, per_s in closed if wa is not None]))  # fmt: skip


def _show_beside(measured: Measurements, found: Measurements, *, as_json: bool) -> None:
    from flashtwin.drives.comparing import compared

    rows = compared(measured, found, measured)
    if as_json:
        data_json([{**asdict(row), "error_percent": row.error_percent} for row in rows])
        return
    data(beside(rows))


def _plain(found: Measurements) -> dict[str, object]:
    return {
        "open_loop": [asdict(row) for row in found.open_loop],
        "overwritten": [{**asdict(row), "pattern": str(row.pattern)} for row in found.overwritten],
    }
