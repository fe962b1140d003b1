"""Drives that were measured: each fitted on every other rate, the rows that were left out predicted."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from evidence.places import ROOT
from evidence.stage import Lab, Stage
from flashtwin.drives import comparing, fitting, tables
from flashtwin.drives.drive import FittedDrive
from flashtwin.drives.tables import Measurements
from flashtwin.results import folder

#: Where the fitted drives stand.
DEVICES = ROOT / "devices" / "real"
#: Who measured them.
SOURCE = "# Measurements: Haas, Lee, Bonnet, Leis: SSD-iq, PVLDB 18(11), 2025."
CODE = ("python/flashtwin/drives", "crates/nand/src", "crates/ftl/src", "crates/sim/src")


def measure(lab: Lab) -> Mapping[str, Any]:
    """By drive: the fitted keys, every figure measured and predicted, and the time taken."""
    return {"drives": {name: _kept(lab, name) for name in tables.drives(lab.measurements)}}


def _kept(lab: Lab, name: str) -> Mapping[str, Any]:
    """A drive's part; an interrupted stage goes on behind the last drive that is done."""
    place = lab.scratch(f"real-drives-{STAGE.digest}") / f"{name}.json"
    if not place.is_file():
        measured = tables.read(lab.measurements, name)
        lab.say(f"{name}: {len(measured.open_loop)} rates")
        folder.write_text(place, json.dumps(_fitted(lab, measured), indent=1))
    else:
        # How long it took is not known any more.
        lab.store.saved_s = None
    found: dict[str, Any] = json.loads(place.read_text(encoding="utf-8"))
    found["toml"] = f"{SOURCE}\n{found['toml']}"
    DEVICES.mkdir(exist_ok=True)
    folder.write_text(DEVICES / f"{name}.toml", found["toml"])
    return found


def _fitted(lab: Lab, measured: Measurements) -> Mapping[str, Any]:
    half = fitting.every_other(measured)
    begun = time.monotonic()
    drive = fitting.fit_drive(half, lab.say)
    took = time.monotonic() - begun
    rows = comparing.compared(measured, fitting.predicted(drive, measured, lab.say), half)
    return {
        "fit_s": round(took), "fitted_on": drive.fitted_on, "toml": with_errors(drive, rows),
        "estimates": [asdict(one) for one in drive.estimates],
        "rows": [{**asdict(row), "error_percent": row.error_percent} for row in rows],
        "errors": [asdict(one) for one in comparing.errors(rows)],
    }  # fmt: skip


def with_errors(drive: FittedDrive, rows: list[comparing.FigureComparison]) -> str:
    """The device file, with how far its twin is from the drive."""
    told = [
        f"# {'fitted' if one.is_fitted else 'predicted'}, {one.regime}: {one.figure}: {one.mean_percent:.1f} % mean, "
        f"{one.worst_percent:.1f} % worst of {one.points}"
        for one in comparing.errors(rows)
    ]
    return "\n".join([drive.toml.rstrip(), "", "# Errors of the twin, absolute:", *told]) + "\n"


STAGE = Stage("real-drives", "twins of drives that were measured", measure, CODE)
