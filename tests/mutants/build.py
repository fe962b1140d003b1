"""Compiles the changes: all at once, those left out that the compiler will not have."""

from __future__ import annotations

import json
import os
import subprocess
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.mutants import tree
from tests.mutants.instrument import Region, Written, instrumented
from tests.mutants.listing import TESTED, Mutant
from tests.mutants.process import LIBTEST, Binary, kill
from tests.mutants.sites import PARSER, NotViableError

NOT_VIABLE, OWN_BUILD = "not viable", "own build"

#: Errors that a change meets because it stands beside others: moved or borrowed in another branch, a type that is
#: inferred from one branch only, a switch where there is nobody to ask.
OF_SWITCHES = {
    "E0015", "E0282", "E0283", "E0284", "E0381", "E0382", "E0384", "E0492", "E0493", "E0499", "E0502", "E0505",
    "E0506", "E0597", "E0658", "E0716",
}  # fmt: skip


@dataclass(frozen=True)
class Left:
    """Why a change is not in the build."""

    category: str
    reason: str


@dataclass
class Built:
    """Programs with all changes in them but some."""

    binaries: list[Binary]
    #: By the key of a change.
    left: dict[str, Left]


class BuildError(Exception):
    """The sources do not compile, whatever is left out."""


def built(root: Path, mutants: Sequence[Mutant], kept: Path, say: Callable[[str], None], *, again: bool) -> Built:
    """Compiles all of `mutants` but those that cannot be, which the file `kept` names from the last time."""
    # Those that the compiler refused; what has no place in the source is seen at once, every time.
    left: dict[str, Left] = {}
    if kept.is_file() and not again:
        before = json.loads(kept.read_text(encoding="utf-8"))
        left = {mutant.key: Left(*before[mutant.key]) for mutant in mutants if mutant.key in before}
    to = root / tree.WORK / "tree"
    while True:
        files = written(root, [mutant for mutant in mutants if mutant.key not in left])
        by_number = {mutant.number: mutant for mutant in mutants}
        placeless: dict[str, Left] = {}
        for one in files.values():
            placeless |= {by_number[number].key: left_by(reason) for number, reason in one.without.items()}
        tree.copy(root, to, {name: one.text for name, one in files.items()})
        done = compiled(to, root / tree.WORK / "build")
        if done.binaries:
            return Built(done.binaries, left | placeless)
        new = {number: why for error in done.errors for number, why in blamed(error, files, by_number).items()}
        if not new:
            raise BuildError("\n".join(done.texts) or "cargo says nothing")
        # Each round takes a minute or two: one that is stopped goes on.
        left |= {by_number[number].key: why for number, why in new.items()}
        kept.write_text(json.dumps({key: (one.category, one.reason) for key, one in left.items()}), encoding="utf-8")
        say(f"left out {len(new)} changes that do not compile; once more")


def left_by(reason: Exception) -> Left:
    """Why a change has no place in the source."""
    return Left(NOT_VIABLE if isinstance(reason, NotViableError) else OWN_BUILD, str(reason))


def written(root: Path, mutants: Iterable[Mutant]) -> dict[str, Written]:
    """Every file that is changed."""
    by_file = defaultdict(list)
    for mutant in mutants:
        by_file[mutant.file].append(mutant)
    return {name: instrumented((root / name).read_bytes(), those) for name, those in by_file.items()}


@dataclass
class Compiled:
    """What cargo answered: programs, or errors."""

    binaries: list[Binary]
    errors: list[dict[str, Any]]
    texts: list[str]


def compiled(folder: Path, target: Path, seconds: float | None = None) -> Compiled:
    """Builds all tests of a tree."""
    command = ["cargo", "build", "--tests", "--locked", "--quiet", "--keep-going", "--profile", "mutants"]
    command += ["--message-format", "json"]
    for package in TESTED:
        command += ["--package", package]
    with subprocess.Popen(
        command,
        cwd=folder,
        env=environment(target),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    ) as done:
        try:
            told_out, told_err = done.communicate(timeout=seconds)
        except BaseException:
            # The compiler, too, which cargo has started.
            kill(done.pid)
            raise
    messages = [json.loads(line) for line in told_out.splitlines() if line.startswith(b"{")]
    told = [one["message"] for one in messages if one["reason"] == "compiler-message"]
    errors = [one for one in told if one["level"].startswith("error") and one["spans"]]
    texts = [one["rendered"] for one in told if one["level"].startswith("error")] or [told_err.decode()]
    return Compiled([] if done.returncode else list(binaries(messages)), errors, texts)


def environment(target: Path) -> dict[str, str]:
    """What cargo is called with: changed text is not to meet lints."""
    return {**os.environ, "CARGO_TARGET_DIR": str(target), "RUSTFLAGS": "--cap-lints=allow"}


def binaries(messages: Iterable[dict[str, Any]]) -> Iterator[Binary]:
    """The programs of tests that a build made."""
    for one in messages:
        if one["reason"] == "compiler-artifact" and one["executable"] and one["profile"]["test"]:
            folder = Path(one["manifest_path"]).parent
            kind = "lib" if "lib" in one["target"]["kind"] else one["target"]["name"]
            yield Binary(f"flashtwin-{folder.name} {kind}", folder, (one["executable"], *LIBTEST))


def blamed(error: dict[str, Any], files: dict[str, Written], by_number: dict[int, Mutant]) -> dict[int, Left]:
    """The changes that an error speaks against: the one it stands in, or else all that are switched around it."""
    code = (error["code"] or {}).get("code", "")
    spans = [span for span in unfolded(error["spans"]) if span["file_name"] in files]
    spans.sort(key=lambda span: not span["is_primary"])
    for span in spans:
        region = around(files[span["file_name"]].regions, span)
        if region is not None:
            return {number: verdict(by_number[number], region, code, error) for number in region.mutants}
    for span in spans:
        numbers = of_function(files[span["file_name"]], span)
        arms = {number for number in numbers if by_number[number].genre == "MatchArm"}
        if code == "E0004" and arms:
            return {number: Left(NOT_VIABLE, "an arm is missing") for number in arms}
        if numbers:
            return {number: Left(OWN_BUILD, error["message"]) for number in numbers}
    return {}


def unfolded(spans: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Spans, and the places where the macros were called that they lie in."""
    for span in spans:
        yield span
        if span.get("expansion"):
            yield from unfolded([span["expansion"]["span"]])


def around(regions: Iterable[Region], span: dict[str, Any]) -> Region | None:
    """The smallest region that holds a span."""
    holds = [one for one in regions if one.span.start <= span["byte_start"] and span["byte_end"] <= one.span.end]
    return min(holds, key=lambda one: one.span.end - one.span.start, default=None)


def of_function(file: Written, span: dict[str, Any]) -> set[int]:
    """All changes of the function that a span lies in."""
    node = PARSER.parse(file.text).root_node.descendant_for_byte_range(span["byte_start"], span["byte_end"])
    while node is not None and node.type != "function_item":
        node = node.parent
    if node is None:
        return set()
    begin, end = node.start_byte, node.end_byte
    return {number for one in file.regions if begin <= one.span.start and one.span.end <= end for number in one.mutants}


def verdict(mutant: Mutant, region: Region, code: str, error: dict[str, Any]) -> Left:
    """Whether a change cannot be compiled at all, or only not beside others."""
    # One type is returned, and the change has another.
    opaque = mutant.genre == "FnValue" and "impl " in mutant.returns and code == "E0308"
    beside = opaque or not region.own or code in OF_SWITCHES
    return Left(OWN_BUILD if beside else NOT_VIABLE, error["message"])
