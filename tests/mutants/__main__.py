"""Changes the core on purpose, one place at a time, and lists the changes that no test notices.

    make mutants [FILES=GLOB]                  all changes, or those of some files, with --behaviour
    python -m tests.mutants --recorded         how many changes there are, and which tests reach them; tries none
    python -m tests.mutants --behaviour        survivors are tried again by tests/test_behaviour.py
    python -m tests.mutants --own-builds       also those changes that cannot be compiled beside others

All changes are compiled at once, each behind a switch, and tests are run with one of them switched on. A run that was
stopped goes on where it was: mutants.out/outcomes.jsonl keeps what was noticed, for as long as the function is the
same. Ends with 1 when a change survives that tests/mutants/survivors.toml does not list.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from tests.mutants import behaviour, listing, outcomes, own, recorded, survivors, tree
from tests.mutants.build import OWN_BUILD, BuildError, Built, built
from tests.mutants.listing import Mutant
from tests.mutants.outcomes import FOLDER, Outcome, Outcomes
from tests.mutants.process import together
from tests.mutants.recorded import FailingError, Test
from tests.mutants.trying import MISSED, Trier

ROOT = Path(__file__).resolve().parents[2]
LEFT = ROOT / tree.WORK / "left.json"
CACHE = ROOT / tree.WORK / "recorded.json"
#: So many changes are tried between two lines that say how far it is.
SAID_EVERY = 200


def main() -> int:
    """Does what was asked for; returns the exit status."""
    arguments = parsed()
    try:
        return whole(arguments)
    except (BuildError, FailingError, survivors.ListError) as error:
        say(str(error))
        return 2
    except KeyboardInterrupt:
        say("stopped; what was noticed is kept, the same command goes on")
        return 130


def parsed() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--file", action="append", default=[], metavar="GLOB", help="only files that match; repeatable")
    parser.add_argument("--workers", type=int, default=2, help="tests that are run at once (2)")
    parser.add_argument("--most-seconds", type=float, default=60, help="of tests that a change may cost (60)")
    parser.add_argument("--again", action="store_true", help="forget what was found out before")
    parser.add_argument("--recorded", action="store_true", help="build and record only")
    parser.add_argument("--own-builds", action="store_true", help="also what needs a build each")
    parser.add_argument("--behaviour", action="store_true", help="ask tests/test_behaviour.py about what survives")
    return parser.parse_args()


def whole(arguments: argparse.Namespace) -> int:
    """Lists, builds, records, tries, and tells."""
    entries = survivors.read()
    mutants = listing.listed(ROOT)
    chosen = listing.chosen(mutants, arguments.file)
    say(f"{len(mutants)} changes" + (f", {len(chosen)} of them in those files" if arguments.file else ""))
    ready = prepared(mutants, again=arguments.again)
    tests = recorded.of_rust(ready.binaries, CACHE, arguments.workers, say)
    if arguments.recorded:
        said_recorded(mutants, ready, tests)
        return 0
    kept = Outcomes(ROOT, mutants, again=arguments.again)
    for mutant in chosen:
        if (left := ready.left.get(mutant.key)) and not (left.category == OWN_BUILD and kept.lasts(mutant)):
            kept.add(outcomes.of(mutant, left.category, left.reason))
    waiting = [one for one in chosen if one.key not in ready.left and not kept.lasts(one)]
    reaching = recorded.by_mutant(tests)
    attempt(waiting, reaching, Trier(own.named(ready.binaries), arguments.most_seconds), kept, arguments.workers)
    if arguments.behaviour:
        by_behaviour(chosen, kept, arguments)
    if arguments.own_builds:
        own_builds(chosen, mutants, ready, tests, kept, arguments.most_seconds)
    return told([kept.known[mutant.key] for mutant in chosen], entries)


def prepared(mutants: Sequence[Mutant], *, again: bool) -> Built:
    """The programs with all changes in them."""
    begun = time.monotonic()
    ready = built(ROOT, mutants, LEFT, say, again=again)
    counts = Counter(one.category for one in ready.left.values())
    said = ", ".join(f"{count} {category}" for category, count in sorted(counts.items()))
    say(f"{len(mutants) - len(ready.left)} compiled beside each other in {time.monotonic() - begun:.0f} s; {said}")
    return ready


def said_recorded(mutants: Sequence[Mutant], ready: Built, tests: Sequence[Test]) -> None:
    """Says what is left out and why, and what is reached."""
    for (category, reason), count in Counter((one.category, one.reason) for one in ready.left.values()).most_common():
        say(f"{count:>5}  {category}: {reason}")
    reached = {number for test in tests for number in test.reached}
    by_category = Counter(mutant.genre for mutant in mutants)
    say(", ".join(f"{count} {genre}" for genre, count in by_category.most_common()))
    total = sum(test.seconds for test in tests)
    say(f"{len(tests)} tests, {total:.0f} s, reach {len(reached)} of {len(mutants) - len(ready.left)} changes")


def attempt(
    waiting: Sequence[Mutant], reaching: dict[int, list[Test]], trier: Trier, kept: Outcomes, workers: int
) -> None:
    """Tries changes, several at a time."""

    def one(mutant: Mutant) -> Outcome:
        tests = reaching.get(mutant.number, [])
        place = (mutant.file, mutant.function)
        answer = trier.tried(place, tests, {"FLASHTWIN_MUTANT": str(mutant.number)})
        return outcomes.answered(mutant, answer, len(tests))

    begun, counts = time.monotonic(), Counter[str]()
    for outcome in together(one, waiting, workers):
        kept.add(outcome)
        counts[outcome.outcome] += 1
        if outcome.outcome == MISSED:
            say(f"missed: {outcome.name}" + (f" ({outcome.by})" if outcome.by else ""))
        if counts.total() % SAID_EVERY == 0 or counts.total() == len(waiting):
            said = ", ".join(f"{count} {kind}" for kind, count in counts.most_common())
            say(f"[{counts.total()}/{len(waiting)}] {said}; {time.monotonic() - begun:.0f} s")


def by_behaviour(chosen: Sequence[Mutant], kept: Outcomes, arguments: argparse.Namespace) -> None:
    """Tries survivors once more, by digests of whole replays."""
    binary, tests = behaviour.prepared(ROOT, arguments.workers, say)
    reaching = recorded.by_mutant(tests)
    missed = [one for one in chosen if kept.known[one.key].outcome == MISSED and one.number in reaching]
    attempt(missed, reaching, Trier(own.named([binary]), arguments.most_seconds), kept, arguments.workers)


def own_builds(
    chosen: Sequence[Mutant],
    mutants: Sequence[Mutant],
    ready: Built,
    tests: Sequence[Test],
    kept: Outcomes,
    most_seconds: float,
) -> None:
    """Tries what could not be compiled beside the others."""
    waiting = [one for one in chosen if one.key in ready.left and ready.left[one.key].category == OWN_BUILD]
    waiting = [one for one in waiting if not kept.lasts(one)]
    functions = {mutant.number: (mutant.file, mutant.function) for mutant in mutants if mutant.function}
    near: dict[tuple[str, str], list[Test]] = {}
    for test in tests:
        for place in {functions[number] for number in test.reached if number in functions}:
            near.setdefault(place, []).append(test)
    for number, outcome in enumerate(own.tried(ROOT, waiting, near, tests, most_seconds), 1):
        kept.add(outcome)
        say(f"[{number}/{len(waiting)}] {outcome.outcome}: {outcome.name}")


def told(found: Sequence[Outcome], entries: Sequence[survivors.Entry]) -> int:
    """Prints what was found; 1 if a change survives that is not listed."""
    judged = survivors.judged(found, entries)
    (ROOT / FOLDER / survivors.FILE.name).write_text(survivors.form(judged.unlisted), encoding="utf-8")
    print(outcomes.table(found))
    if judged.unlisted:
        print(f"\n{len(judged.unlisted)} changes that no test notices:")
    for one in judged.unlisted:
        print(f"  {one.name}" + (f" ({one.by})" if one.by else ""))
    if judged.listed:
        print(f"\n{len(judged.listed)} more survive as {survivors.FILE.name} says")
    for text in judged.stale:
        print(f"{survivors.FILE.name}: {text}")
    return 1 if judged.unlisted else 0


def say(text: str) -> None:
    """Talk goes to stderr."""
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
