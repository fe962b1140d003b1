"""`flashtwin measure`: the experiments of a drive on a twin, in the same tables."""

from dataclasses import asdict
from pathlib import Path

from flashtwin.cli._bridge import verb
from flashtwin.cli._fitting import beside
from flashtwin.cli._options import AnySeed, Folder, Json, Sets, Share
from flashtwin.cli._talk import data, data_json, say, table
from flashtwin.drives import tidy
from flashtwin.drives.fit import expect_scipy
from flashtwin.drives.fit import measure as measure_twin
from flashtwin.drives.tables import Measurements
from flashtwin.replays.presets import resolve_text, warn_of_ignored


@verb()
def measure(
    drive: str,
    *,
    system: str = "conventional",
    set_: Sets = (),
    predict: Path | None = None,
    of: str | None = None,
    fill: Share | None = None,
    out: Folder | None = None,
    seed: AnySeed = 1,
    json: Json = False,
) -> None:
    """Measure the twin of DRIVE: response times at offered rates, write amplification, rates of access patterns.

    DRIVE is a name of `flashtwin devices` or a TOML file, for example from `flashtwin fit`, which reads the same
    tables. It takes about a minute; with --predict, a few seconds per rate.

    \b
    Example:
      flashtwin measure my-drive.toml --out twin
      flashtwin measure my-drive.toml --predict results

    Args:
        drive (DRIVE): The twin.
        system (NAME): System on DRIVE: a name of `flashtwin systems`, or a TOML file. Example: --system rr-ssd
        predict (RESULTS): Repeat these measurements of a real drive and compare. Example: --predict results
        of (NAME): With --predict: the drive, if RESULTS has several. Example: --of sk-hynix-pe8110-960
        fill: Share of the physical space in use, where neither a table nor DRIVE's file says it. Example: --fill 80%
            [default: 90 %; with --predict, needed for patterns alone on a drive that `fit` did not make]
        out (DIR): Folder for the tables. Example: --out twin
    """
    expect_scipy()
    chosen = resolve_text(system, [("device", drive), *set_])
    warn_of_ignored([(chosen.name, chosen)], [key for key, _ in set_])
    found = measure_twin(chosen, predict=predict, of=of, fill=fill, seed=seed, notify=say)
    for path in tidy.write(found.rows, out) if out else ():
        say(f"wrote {path}")
    if predict is None:
        _show(found.rows, as_json=json)
    else:
        errors = [{**asdict(row), "error_percent": row.error_percent} for row in found.compared]
        data_json(errors) if json else data(beside(found.compared))


def _show(found: Measurements, *, as_json: bool) -> None:
    if as_json:
        data_json(_plain(found))
        return
    kinds = ("read_us", "write_us")
    figures = [f"{kind[:-3]} p{share}, us" for kind in kinds for share in (50, 99, 99.9)]
    rows = [
        [f"{row.offered_per_s:,.0f}", f"{row.reads_per_s + row.writes_per_s:,.0f}",
         *(f"{getattr(row, kind)[share]:,.0f}" if share in getattr(row, kind) else "" for kind in kinds
           for share in ("50p", "99p", "99p9"))]
        for row in found.open_loop
    ]  # fmt: skip
    data(table(["requests/s offered", "served", *figures], rows))
    closed = [(f"{row.pattern} at {row.fill_gib:,.0f} GiB", row.amplification, row.writes_per_s) for row in
              found.overwritten]  # fmt: skip
    data("")
    data(table(["written, closed loop", "write amplification", "writes/s"],
               [[name, f"{wa:.2f}", f"{per_s:,.0f}"] for name, wa, per_s in closed if wa is not None]))  # fmt: skip


def _plain(found: Measurements) -> dict[str, object]:
    return {
        "open_loop": [asdict(row) for row in found.open_loop],
        "overwritten": [{**asdict(row), "pattern": str(row.pattern)} for row in found.overwritten],
    }
