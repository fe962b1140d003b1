"""What was tried to break flashtwin: a promise, the tests that attack it, and how often they did.

`make counts`, `make planted`, `make suites` take longer than a study may: `docs/evidence/long` has their results.
"""

import json
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from evidence.code import ROOT
from evidence.forms import count, grid, ratio
from evidence.study import RECORDS, SCRATCH, Data, Lab, Study
from flashtwin.progress import Notify
from flashtwin.results import folder
from flashtwin.results.documents import json_or_none
from flashtwin.units import plural

LONG_RUNS = RECORDS / "long"
#: Results of `make counts`, by command.
COUNTS = LONG_RUNS / "counts.json"
#: Tests say what they tried: Rust prints this line, Python records a property of this name.
COUNTED = "counted "
SAID = re.compile(rf"^.*?{COUNTED}(\d+) ([a-z ]+)$", re.MULTILINE)
ENDED = re.compile(r"test result: \w+\. (\d+) passed; (\d+) failed;.*finished in ([\d.]+)s")
CARGO = "cargo test --locked --release --config .cargo/test.toml -p flashtwin-{} --tests -- {} --nocapture"
EXECUTED = re.compile(r"^stat::number_of_executed_units: (\d+)$", re.MULTILINE)
FUZZ = "make fuzz FUZZ={} RUNS={} SECONDS={}"
PYTEST = "python -m pytest -q -n logical --dist worksteal {}"


@dataclass(frozen=True)
class Suite:
    promise: str
    #: A crate and the tests of it, files of Python's tests, or `make fuzz` and its target.
    tests: tuple[str, ...]
    #: Of suites that take it from the environment: how often each test tries what.
    asked: tuple[str, str, int] | None = None

    @property
    def is_fuzzed(self) -> bool:
        return self.tests[0] == "make fuzz"

    @property
    def is_rust(self) -> bool:
        return not (self.is_fuzzed or ".py" in self.tests[0])

    @property
    def command(self) -> str:
        crate, *names = self.tests
        if self.is_fuzzed and self.asked:
            return FUZZ.format(names[0], self.asked[2], MOST_S)
        words = CARGO.format(crate, " ".join(names)) if self.is_rust else PYTEST.format(" ".join(self.tests))
        return f"env {self.asked[0]}={self.asked[2]} {words}" if self.asked else words


ANY_FAULT = "A served drive returns what was written or an error, whatever fails under it"
CUT = "What a flush promised is there after a power cut or a kill"
BYTES = "No bytes make a parser or a peer panic, hang or take memory without bound"
CLIENTS = "A client that stalls, leaves or lies delays and harms no other"
ACCOUNTS = "Every request of a replay completes, and every program has one cause"
#: Targets of `make fuzz` (crates/fuzz).
TARGETS = re.findall(r'name: "([a-z-]+)"', (ROOT / "crates" / "fuzz" / "src" / "lib.rs").read_text(encoding="utf-8"))
#: Readers in Python (tests/test_fuzz.py).
READERS = re.findall(r'^    "([a-z]+)": Target', (ROOT / "tests" / "test_fuzz.py").read_text(encoding="utf-8"), re.M)
READER = "tests/test_fuzz.py::test_no_mutant_of_any_file_breaks_its_reader[{}]"
CONTINUED = "What was interrupted is continued by the same command"
SUITES = (
    Suite(ANY_FAULT, ("live", "a_drive_keeps_its_promises"), ("FLASHTWIN_SEEDS", "drives", 2_000)),
    Suite(ANY_FAULT, ("live", "drive::damage", "drive::bad_places", "drive::threads")),
    Suite(ANY_FAULT, ("tests/live/test_lying_disks.py", "tests/live/test_failing_disks.py")),
    Suite(CUT, ("live", "drive::cuts")),
    Suite(CUT, ("tests/live/test_kills.py",)),
    Suite("A database on a served drive keeps what it committed", ("tests/live/test_databases.py",)),
    Suite(BYTES, ("fuzz", "no_mutant"), ("FLASHTWIN_MUTANTS", "mutants", 2_000)),
    Suite(BYTES, ("tests/test_fuzz.py",), ("FLASHTWIN_MUTANTS", "mutants", 200)),
    Suite("Wrong input and wrong usage get one message and leave nothing behind", ("tests/test_bad_input.py",)),
    Suite(CLIENTS, ("live", "fair::", "hostile::", "leaving::")),
    Suite(CLIENTS, ("tests/live/test_fairness.py",)),
    Suite(CONTINUED, ("tests/test_interrupt.py", "tests/test_full_disks.py", "tests/test_sweep_kills.py")),
    Suite("The same inputs give the same bytes", ("tests/test_determinism.py", "tests/test_behaviour.py")),
    Suite(ACCOUNTS, ("sim", "swarm::")),
)  # fmt: skip
#: For `make counts`: hours. libFuzzer stops at a number of inputs or after `MOST_S`, whichever comes first.
SEEDS, MUTANTS, INPUTS, MOST_S = 100_000, 100_000, 2_000_000, 900
#: A mutant takes a twentieth of a second. Summaries and tables of runs are read by `study` as well.
FEWER = {"verdicts": 30_000, "page": 10_000}
LONG = (
    Suite(ANY_FAULT, ("live", "a_drive_keeps_its_promises"), ("FLASHTWIN_SEEDS", "drives", SEEDS)),
    Suite(ACCOUNTS, ("sim", "any_system_completes"), ("FLASHTWIN_SEEDS", "replays", SEEDS)),
    Suite("Every page of an FTL holds what was written last", ("ftl", "any_system_on_any_device"),
          ("FLASHTWIN_SEEDS", "devices", SEEDS)),
    Suite(BYTES, ("fuzz", "no_mutant"), ("FLASHTWIN_MUTANTS", "mutants", MUTANTS)),
    *(Suite(BYTES, ("make fuzz", target), ("RUNS", "inputs", INPUTS)) for target in TARGETS),
    *(Suite(BYTES, (READER.format(name),), ("FLASHTWIN_MUTANTS", f"mutants of {name}", FEWER.get(name, MUTANTS)))
      for name in READERS),
)  # fmt: skip


def measure(lab: Lab) -> Data:
    SCRATCH.mkdir(parents=True, exist_ok=True)
    found = []
    for suite in SUITES:
        lab.say(suite.command)
        tried = entry(suite)
        if tried["passed"] + tried["failed"] == 0:
            lab.say("left out: there are no such tests")
            continue
        found.append(tried)
    return {
        "suites": found + (json_or_none(COUNTS) or []), "planted": json_or_none(LONG_RUNS / "planted.json"),
        "others": json_or_none(LONG_RUNS / "suites.json") or [],
    }  # fmt: skip


def entry(suite: Suite) -> dict[str, Any]:
    date = datetime.now(UTC).date().isoformat()
    return {"promise": suite.promise, "command": suite.command, "date": date, **ran(suite)}


def count_on(parts: Sequence[str], say: Notify) -> int:
    """Makes the long runs whose command has one of these parts, or all; each result is kept as it comes."""
    failed = 0
    SCRATCH.mkdir(parents=True, exist_ok=True)
    if unknown := [part for part in parts if not any(part in suite.command for suite in LONG)]:
        say(f"no long run has {' or '.join(unknown)} in its command; these are the commands:")
        for suite in LONG:
            say(suite.command)
        return 2
    for suite in LONG:
        if parts and not any(part in suite.command for part in parts):
            continue
        made = entry(suite)
        # Without rows of commands that this file had once, because nobody would make them again.
        kept = {one.command for one in LONG} - {suite.command}
        others = [one for one in json_or_none(COUNTS) or [] if one["command"] in kept]
        COUNTS.parent.mkdir(parents=True, exist_ok=True)
        folder.write_text(COUNTS, json.dumps([*others, made], indent=1) + "\n")
        said = f"{made['failed']} failed, see {printed_by(suite.command)}" if made["failed"] else "none failed"
        say(f"{suite.command}: {tried_words(made)} in {made['seconds']} s, {said}")
        failed += made["failed"]
    return int(failed > 0)


def ran(suite: Suite) -> dict[str, Any]:
    """What a suite tried and found, and its seconds without those of a build."""
    if suite.is_fuzzed:
        begun = time.monotonic()
        done = _done(suite.command)
        # A finding stops it; the printed line is the last.
        said = [(number, f"inputs of {suite.tests[1]}") for number in EXECUTED.findall(done.stdout + done.stderr)]
        failed = int(done.returncode != 0)
        return _result(suite, 1 - failed, failed, 0, time.monotonic() - begun, said)
    if suite.is_rust:
        done = _done(suite.command)
        printed = done.stdout + done.stderr
        ends = ENDED.findall(printed)
        if not ends:
            raise RuntimeError(f"{suite.command} did not get to its end:\n{printed[-2000:]}")
        passed, failed = (sum(int(end[at]) for end in ends) for at in (0, 1))
        return _result(suite, passed, failed, 0, sum(float(end[2]) for end in ends), SAID.findall(printed))
    report = printed_by(suite.command).with_suffix(".xml")
    report.unlink(missing_ok=True)
    _done(suite.command, f"--junitxml={report}")
    if not report.is_file():
        return _result(suite, 0, 0, 0, 0.0, ())
    (whole,) = ElementTree.parse(report).getroot().iter("testsuite")
    failed, skipped = (sum(int(whole.get(one, 0)) for one in of) for of in (("failures", "errors"), ("skipped",)))
    properties = [(one.get("value", "0"), one.get("name", "")) for one in whole.iter("property")]
    said = [(number, name.removeprefix(COUNTED)) for number, name in properties if name.startswith(COUNTED)]
    passed = int(whole.get("tests", 0)) - failed - skipped
    return _result(suite, passed, failed, skipped, float(whole.get("time", 0)), said)


def _done(command: str, *more: str) -> subprocess.CompletedProcess[str]:
    """A command's run. What it printed is kept, because a failure after an hour has its seed there."""
    words = [*(sys.executable if word == "python" else word for word in command.split()), *more]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, errors="replace", check=False)
    folder.write_text(printed_by(command), done.stdout + done.stderr)
    return done


def printed_by(command: str) -> Path:
    return SCRATCH / f"{re.sub('[^A-Za-z0-9=]+', '-', command)[-120:]}.txt"


def _result(
    suite: Suite, passed: int, failed: int, skipped: int, seconds: float, said: Sequence[tuple[str, str]]
) -> dict[str, Any]:
    """What was tried is what the tests said; else what each was asked for."""
    tried: Counter[str] = Counter()
    for number, what in said:
        tried[what] += int(number)
    if not tried and suite.asked:
        tried[suite.asked[1]] = suite.asked[2] * (passed + failed)
    return {"tried": tried, "passed": passed, "failed": failed, "skipped": skipped, "seconds": round(seconds, 1)}


def tried_words(one: Mapping[str, Any]) -> str:
    words = [f"{count(number)} {what}" for what, number in one["tried"].items()]
    skipped = [f"{one['skipped']} skipped"] if one["skipped"] else []
    return ", ".join([*words, plural(one["passed"] + one["failed"], "test"), *skipped])


def pages(data: Data) -> Data:
    """The tables of the page; without those of `make planted` and `make suites`, if these have not been run."""
    by_promise: dict[str, list[Data]] = {}
    for one in data["suites"]:
        by_promise.setdefault(one["promise"], []).append(one)
    # A promise is said once, in the first of its rows.
    rows = [(promise if nth == 0 else "", one) for promise, of in by_promise.items() for nth, one in enumerate(of)]
    columns = ("suite", "version", "passed", "failed", "skipped", "seconds", "date")
    others = data["others"]
    reasons = [f"* {one['suite']}: {_shortened(why)}" for one in others for why in one["reason"]]
    return {
        "promises": grid(["promise", "tried", "findings", "seconds", "date"], (
            [promise, tried_words(one), one["failed"], ratio(one["seconds"], 0), one["date"]] for promise, one in rows
        )),
        "commands": grid(["promise", "command"], ([promise, f"`{one['command']}`"] for promise, one in rows)),
        "planted": data["planted"], "reasons": reasons,
        "others": grid(
            ["systems", *columns], ([", ".join(one["systems"]), *(one[name] for name in columns)] for one in others)
        ) if others else [],
    }  # fmt: skip


def _shortened(why: str) -> str:
    """A reason without the folders of the machine, and without where its whole output is."""
    whole, _, _ = " ".join(why.split()).partition(" ... (Run")
    return re.sub(r"\S*/xfstests/", "", whole)


STUDY = Study(
    "reliability", "what was tried to break it", measure, pages,
    code=("crates/*/src", "crates/*/tests", "python/flashtwin", "tests"),
    needs="Linux and the tools of `tests/tools.toml`",
)  # fmt: skip
