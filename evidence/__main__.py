"""Measures again what README and docs state, a study at a time.

    make evidence FLASHTWIN_CAPTURED=DIR FLASHTWIN_SAMPLES=DIR      every study whose code has changed since
    python -m evidence --captured DIR STUDY    these studies, whether the code has changed or not
    python -m evidence --status                by which code, when and in which time each study was made
    python -m evidence --pages                 make the pages from the records
    python -m evidence --summarize             make the records again from evidence/data, then the pages
    python -m evidence --counts [WORD ...]     the long runs of the page of reliability: those with a WORD, or all

An interrupted study goes on where it was: every replay is kept as it finishes, below out/evidence.
"""

import argparse
import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from evidence import render, studies
from evidence.studies import reliability
from evidence.study import INPUTS, Lab, MissingInputError, Study
from flashtwin.results import folder


def main() -> int:
    arguments = _parsed()
    if arguments.counts is not None:
        return reliability.count_on(arguments.counts, say)
    if arguments.status:
        return _status()
    if arguments.pages:
        return _pages()
    if arguments.summarize:
        for study in studies.STUDIES:
            say(f"{study.name}: {'record written' if study.summarize() else 'no data in evidence/data'}")
        return _pages()
    wanted = [one for one in studies.STUDIES if (one.name in arguments.study if arguments.study else one.is_stale())]
    try:
        return _measured(wanted, Lab({kind: getattr(arguments, kind) for kind in INPUTS}, say))
    except KeyboardInterrupt:
        say("stopped; finished replays are kept, and the same command goes on")
        return 130


def _measured(wanted: Sequence[Study], lab: Lab) -> int:
    """Makes studies one after another, and then the pages; 2 if input was missing for one."""
    left_out = 0
    for number, study in enumerate(wanted, 1):
        say(f"[{number}/{len(wanted)}] {study.name}: {study.title}")
        try:
            study.run(lab)
        except MissingInputError as error:
            # Other studies may need other input, or none.
            say(f"{study.name} is left out: {error}")
            left_out += 1
    return _pages() or (2 if left_out else 0)


def _parsed() -> argparse.Namespace:
    text = __doc__ or ""
    parser = argparse.ArgumentParser("evidence", description=text, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = {one.name: one.title for one in studies.STUDIES}
    told = "; ".join(f"{name}: {title}" for name, title in names.items())
    # The empty list is what argparse takes for no name at all.
    parser.add_argument("study", nargs="*", metavar="STUDY", choices=[*names, []], help=told)
    for kind, what in INPUTS.items():
        variable = f"FLASHTWIN_{kind.upper()}"
        default = Path(os.environ[variable]) if os.environ.get(variable) else None
        parser.add_argument(
            f"--{kind}", type=Path, metavar="DIR", default=default, help=f"folder of {what}; default: {variable}"
        )
    parser.add_argument("--status", action="store_true", help="print by which code each study was made")
    parser.add_argument("--pages", action="store_true", help="make the pages from the records")
    parser.add_argument("--summarize", action="store_true", help="make the records again from evidence/data")
    parser.add_argument("--counts", nargs="*", metavar="WORD", help="make the long runs of the page of reliability")
    return parser.parse_args()


def _status() -> int:
    """Prints every study with date, code and time, and the studies of every page; 1 if one is older than its code."""
    seconds = 0
    for study in studies.STUDIES:
        print(f"{study.name:14} {_state(study)}")
        seconds += (study.record() or {}).get("wall_s") or 0
    print(f"{seconds / 60:.0f} minutes in all, of those studies that know their time\n")
    stale = {study.name for study in studies.STUDIES if study.is_stale()}
    for template in sorted(render.PAGES.rglob("*.j2")):
        calls = " ".join(re.findall(r"made\(([^)]*)\)", template.read_text(encoding="utf-8")))
        if made := re.findall(r'"([a-z-]+)"', calls):
            old = [name for name in made if name in stale]
            whose = f"older than the code of {', '.join(old)}" if old else "by today's code"
            print(f"{template.stem:22} {', '.join(made)}: {whose}")
    return int(bool(stale))


def _state(study: Study) -> str:
    record = study.record()
    if record is None:
        return f"never made; {study.command}"
    whose = f"older than its code {study.digest}; {study.command}" if study.is_stale() else "today's code"
    return f"{record['made']}, {render.took(record)}, by code {record['code']}: {whose}"


def _pages() -> int:
    """Writes the pages that differ from their records; 1 if a record does not support a sentence."""
    try:
        made = render.pages()
    except render.ClaimError as error:
        say(str(error))
        return 1
    for path, text in made.items():
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            folder.write_text(path, text)
            say(f"{path} written")
    return 0


def say(text: str) -> None:
    """Messages go to stderr."""
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
