"""Measures again what README and docs state, a stage at a time.

    make evidence FLASHTWIN_CAPTURED=DIR FLASHTWIN_SAMPLES=DIR      every stage whose code has changed since
    python -m evidence --captured DIR STAGE    these stages, whether the code has changed or not
    python -m evidence --confirm [STAGE]       make a sample again, after a change that was to change nothing
    python -m evidence --status                which figures are older than the code that makes them
    python -m evidence --pages [--check]       make the pages from the data, or say which are not so made

A stage that was interrupted goes on where it was: every replay is kept as it finishes, below out/evidence.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from evidence import render, stages
from evidence.confirm import confirm
from evidence.stage import Lab, MissingTracesError, Stage
from flashtwin.results import folder

#: Of how many replays one is made again to confirm figures.
ONE_IN = 20


def main() -> int:
    """Runs the stages asked for; returns the exit status."""
    arguments = parsed()
    if arguments.status:
        return status()
    if arguments.pages:
        return pages(check=arguments.check)
    try:
        wanted = [stages.named(name) for name in arguments.stage] or [one for one in stages.STAGES if one.stale()]
    except KeyError as error:
        say(str(error.args[0]))
        return 2
    lab = Lab(arguments.captured, say, arguments.samples, arguments.drives)
    try:
        return confirmed(wanted, lab) if arguments.confirm else measured(wanted, lab)
    except MissingTracesError as error:
        say(str(error))
        return 2
    except KeyboardInterrupt:
        say("stopped; what was replayed is kept, the same command goes on")
        return 130


def measured(wanted: Sequence[Stage], lab: Lab) -> int:
    """Measures stages one after another, and makes the pages; 2 where traces were missing for one."""
    left_out = 0
    for number, stage in enumerate(wanted, 1):
        say(f"[{number}/{len(wanted)}] {stage.name}: {stage.title}")
        begun = time.monotonic()
        try:
            stage.run(lab)
        except MissingTracesError as error:
            # Other stages may need other traces, or none.
            say(f"[{number}/{len(wanted)}] {stage.name}: left out; {error}")
            left_out += 1
            continue
        say(f"[{number}/{len(wanted)}] {stage.name}: {time.monotonic() - begun:.0f} s, {stage.path}")
    return pages(check=False) or (2 if left_out else 0)


def confirmed(wanted: Sequence[Stage], lab: Lab) -> int:
    """Makes a sample of each stage again; 1 where a figure is another one now."""
    status = 0
    for stage in wanted:
        differs = confirm(stage, lab, ONE_IN)
        say(f"{stage.name}: {differs or 'the same figures'}")
        status |= int(differs is not None)
    return status


def parsed() -> argparse.Namespace:
    """The command line."""
    text = __doc__ or ""
    parser = argparse.ArgumentParser("evidence", description=text, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("stage", nargs="*", help="; ".join(f"{one.name}: {one.title}" for one in stages.STAGES))
    for flag, what in (
        ("captured", "the recorded traces"),
        ("samples", "heads and windows of public traces"),
        ("drives", "measurements of drives"),
    ):
        default = os.environ.get(f"FLASHTWIN_{flag.upper()}")
        parser.add_argument(
            f"--{flag}", type=Path, metavar="DIR", default=Path(default) if default else None,
            help=f"folder of {what}; FLASHTWIN_{flag.upper()} otherwise",
        )  # fmt: skip
    parser.add_argument("--confirm", action="store_true", help="make a sample again and compare, instead of everything")
    parser.add_argument("--status", action="store_true", help="say which figures are older than their code")
    parser.add_argument("--pages", action="store_true", help="make the pages from the data")
    parser.add_argument("--check", action="store_true", help="with --pages: only say which are not fresh")
    return parser.parse_args()


def status() -> int:
    """Prints every stage with the date of its figures; 1 where one is older than its code."""
    for stage in stages.STAGES:
        print(f"{stage.name:18} {state(stage)}")
    return int(any(stage.stale() for stage in stages.STAGES))


def state(stage: Stage) -> str:
    """When a stage was measured, and whether its code is still the same."""
    record = stage.record()
    if record is None:
        return "never measured"
    fresh = "by today's code" if not stage.stale() else f"older than the code that makes it; {record['command']}"
    if "confirmed" in record and not stage.stale():
        fresh = f"and {record['confirmed']['sample']} of it again by today's code, with the same figures"
    return f"{record['made']}, {fresh}"


def pages(*, check: bool) -> int:
    """Writes the pages, or names those that the data would make otherwise."""
    try:
        found = render.pages()
    except render.ClaimError as error:
        say(str(error))
        return 1
    stale = [path for path, text in found.items() if not path.is_file() or path.read_text(encoding="utf-8") != text]
    for path in stale:
        if check:
            say(f"{path}: not what the data make of it; python -m evidence --pages")
        else:
            folder.write_text(path, found[path])
            say(f"{path} written")
    for stage in stages.STAGES:
        if stage.stale():
            say(f"{stage.name}: {state(stage)}")
    return int(check and bool(stale))


def say(text: str) -> None:
    """Talk goes to stderr."""
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
