"""Reasons of findings: the parts of a mean, the waits, other differences.

All of it is measured. That one thing is so because of another is claimed only where a run beside it
differs in that one thing alone; the wait ledger is no guess either: it says what held the chip, the channel
or the hash unit while a request waited.
"""

from flashtwin import units
from flashtwin.judgement import facts, ledger
from flashtwin.results import ground
from flashtwin.results.reading import SavedRun


def parts(run: SavedRun, base: SavedRun, kind: str) -> str:
    """In which parts of the response time two runs differ; empty when the parts are not known."""
    new, old = facts.split(run, kind), facts.split(base, kind)
    if new is None or old is None:
        return ""
    deltas = {words: new[key] - old[key] for key, words in facts.PARTS}
    total = sum(deltas.values())
    if units.unchanged(facts.share(total, sum(old.values())) or 0.0):
        return ""
    # Parts that went the other way are part of the truth.
    told = [words for words in deltas if abs(deltas[words]) >= facts.WORTH_A_WORD_PERCENT / 100.0 * abs(total)]
    told.sort(key=lambda words: -abs(deltas[words]))
    signs = {words: "+" if deltas[words] > 0 else units.MINUS for words in told}
    listed = ", ".join(f"{signs[words]}{units.duration(abs(deltas[words]))} {words}" for words in told)
    verb, of = "saves" if total < 0 else "loses", "request" if kind == "all" else kind
    return f"Per {of}, `{run.label}` {verb} {units.duration(abs(total))} against `{base.label}`: {listed}."


def hashing(run: SavedRun) -> str:
    """The cost of a content lookup to a write: hashing it, and waiting for the unit, as separate parts."""
    split, wait = facts.split(run, "write"), facts.waiting_share(run, "write", ("hash_wait",)) or 0.0
    if split is None or split["hash"] <= 0:
        return ""
    text = f"Of a write's time, hashing is {units.duration(split['hash'])}"
    busy, lanes, queue = (run.number(f"hash_unit.{name}") for name in ("utilisation", "lanes", "queue_max"))
    if wait < facts.WORTH_A_WORD_PERCENT:
        return f"{text}."
    text += f" and waiting for the hash unit {units.duration(split['hash_wait'])}"
    if busy is None or lanes is None:
        return f"{text}."
    text += f": the unit, with {units.plural(lanes, 'lane')}, is busy {units.percent(busy * 100.0)} of the time"
    text += f", and up to {units.count(queue)} pages queue for it" if queue else ""
    return f"{text} (`engine.hash_lanes`)."


def slowest(run: SavedRun, base: SavedRun, kind: str) -> str:
    """The longest waits of the slowest requests of two runs."""
    known = [(one, ledger.ledger(one, kind, ledger.SLOWEST_PERCENT)) for one in (run, base)]
    told = [waited(one, found) for one, found in known if found is not None]
    return f"They take {'; '.join(told)}." if told else ""


def waited(run: SavedRun, of: ledger.Ledger) -> str:
    """The mean of some requests, and their longest wait: `3 ms under a, 48 % of it waiting for b`."""
    charge, ns = of.longest or ("", 0.0)
    share = f"{units.percent(facts.share(ns, of.total_ns))} of it waiting for {ledger.words(charge)}"
    return f"{units.duration(of.total_ns)} on average under `{run.label}`, {share if ns else 'none of it waiting'}"


def besides(run: SavedRun, other: SavedRun, keys: tuple[str, ...]) -> list[str]:
    """The keys in which two runs differ besides those that begin so: where none does, these alone are the cause."""
    return [one.key for one in _differences(run, other) if not one.key.startswith(keys)]


def unlike_ground(run: SavedRun, other: SavedRun) -> str:
    """A sentence naming the ground that differs between two runs and moves times; empty where none does."""
    keys = [one.key for one in _differences(run, other) if one.warns]
    if not keys:
        return ""
    verb = "moves" if len(keys) == 1 else "move"
    return f"They also differ in {units.names(keys)}, which {verb} times whatever the design does."


def _differences(run: SavedRun, other: SavedRun) -> list[ground.Difference]:
    return ground.differences({one.name: one.config for one in (other, run)})
