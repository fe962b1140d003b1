"""Suites of other people against served drives: `make suites`. `make test` has what takes seconds, in tests/live.

Results are in docs/evidence/long/suites.json. A failure is repeated with `make suites SUITES=NAME ONLY='CASE'`.
"""

import argparse
import datetime
import json
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from ..conftest import ROOT
from . import clients, xfstests
from .case import SYSTEMS, Case

OUT = ROOT / "docs" / "evidence" / "long" / "suites.json"


@dataclass(frozen=True)
class Suite:
    """Programs of another project, and how they are run."""

    #: Its version, or a skip of pytest that says what is missing.
    version: Callable[[], str]
    #: Cases in order. What they stand on is made and removed between them.
    cases: Callable[[Path], Iterator[Case]]
    systems: Sequence[str] = SYSTEMS


SUITES = {
    "libnbd": Suite(clients.libnbd_version, clients.libnbd),
    "nbd": Suite(clients.nbd_version, clients.nbd),
    "qemu": Suite(partial(clients.program_version, "qemu-img", "qemu-io"), clients.qemu),
    "fio": Suite(partial(clients.program_version, "fio"), clients.fio),
    "databases": Suite(clients.databases_version, clients.databases, ("ca-ssd", "rr-ssd")),
    "xfstests": Suite(xfstests.version, xfstests.cases, xfstests.SYSTEMS),
}


def run(name: str, only: str) -> dict[str, Any]:
    """A suite's entry of the results."""
    begun, suite = time.monotonic(), SUITES[name]
    entry: dict[str, Any] = {
        "suite": name, "version": "", "systems": suite.systems, "passed": 0, "failed": 0, "skipped": 0, "reason": [],
    }  # fmt: skip
    try:
        entry["version"] = suite.version()
        with TemporaryDirectory(prefix="flashtwin-suite-") as folder:
            for case in suite.cases(Path(folder)):
                if only in ("", case.name):
                    outcome, reason = judged(case)
                    print(f"{name}: {case.name}: {outcome}", flush=True)
                    entry[outcome] += 1
                    again = f" Again: make suites SUITES={name} ONLY='{case.name}'" if outcome == "failed" else ""
                    entry["reason"] += [f"{outcome}: {case.name}: {reason}{again}"] if reason else []
    except pytest.skip.Exception as skipped:
        entry["reason"] += [f"skipped: {skipped}"]
    return {**entry, "seconds": round(time.monotonic() - begun), "date": datetime.date.today().isoformat()}


def judged(case: Case) -> tuple[str, str]:
    try:
        case.run()
    except pytest.skip.Exception as skipped:
        return "skipped", str(skipped)
    except Exception as error:  # noqa: BLE001 - whatever a suite does, the next case follows
        return "failed", f"{type(error).__name__}: {str(error)[-500:]}"
    return "passed", ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("suites", nargs="*", metavar="|".join(SUITES), help="all, if none is named")
    parser.add_argument("--only", default="", help="one case, as a failure names it")
    asked = parser.parse_args()
    entries = [run(name, asked.only) for name in asked.suites or SUITES]
    if not asked.only:
        known = json.loads(OUT.read_text(encoding="utf-8")) if OUT.exists() else []
        named = {entry["suite"] for entry in entries}
        OUT.parent.mkdir(parents=True, exist_ok=True)
        part = OUT.with_suffix(".part")
        others = [entry for entry in known if entry["suite"] not in named]
        part.write_text(json.dumps([*others, *entries], indent=1) + "\n", encoding="utf-8")
        part.replace(OUT)
    for entry in entries:
        counts = ", ".join(f"{entry[outcome]} {outcome}" for outcome in ("passed", "failed", "skipped"))
        print(f"{entry['suite']:10} {entry['version']:20} {counts} in {entry['seconds']} s")
        for reason in entry["reason"]:
            print(f"  {reason}")
    return any(entry["failed"] for entry in entries)


if __name__ == "__main__":
    raise SystemExit(main())
