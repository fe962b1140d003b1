"""What findings give as reasons: the parts of a mean, what was waited for, what else differs.

All of it is measured. That one thing is so because of another is said nowhere but where a run beside it
differs in that one thing alone (`differs_only_in`); the wait ledger is no guess either: it says what held
the chip, the channel or the hash unit while a request waited.
"""

from __future__ import annotations

from flashtwin import units
from flashtwin.judgement import facts, ledger
from flashtwin.results import ground
from flashtwin.results.reading import SavedRun

PART_WORDS = {
    "queueing": "queueing at the chips",
    "channel_wait": "waiting for the channels",
    "hash_wait": "waiting for the hash unit",
    "other_wait": "other waiting",
    "hash": "hashing",
    "transfer": "transfer",
    "flash": "flash operations",
    "controller": "the controller",
}
#: Parts that are less than this share of the whole change are not worth a word.
_TOLD = 0.05
#: Waits that are less than this share of a response time are not worth a word, in percent.
_TOLD_PERCENT = 5.0


def parts(run: SavedRun, base: SavedRun, kind: str) -> str:
    """In which parts of the response time two runs differ; empty when the parts are not known."""
    new, old = facts.split(run, kind), facts.split(base, kind)
    if new is None or old is None:
        return ""
    deltas = {key: new[key] - old[key] for key in PART_WORDS}
    total = sum(deltas.values())
    if abs(total) < 1.0:
        return ""
    # What went the other way is part of the truth.
    told = [key for key in deltas if abs(deltas[key]) >= _TOLD * abs(total)]
    told.sort(key=lambda key: -abs(deltas[key]))
    listed = ", ".join(f"{_signed(deltas[key])} {PART_WORDS[key]}" for key in told)
    unit = {"read": "read", "write": "write", "all": "request"}[kind]
    verb = "saves" if total < 0 else "loses"
    return f"Per {unit}, `{run.label}` {verb} {units.duration(abs(total))} against `{base.label}`: {listed}."


def _signed(ns: float) -> str:
    return f"{'+' if ns > 0 else units.MINUS}{units.duration(abs(ns))}"


def hashing(run: SavedRun) -> str:
    """What looking a content up costs a write: hashing it, and waiting for the unit that does, told apart."""
    split = facts.split(run, "write")
    if split is None or split["hash"] <= 0:
        return ""
    text = f"Of a write's time, hashing is {units.duration(split['hash'])}"
    wait = facts.waiting_share(run, "write", ("hash_wait",))
    if wait is None or wait < _TOLD_PERCENT:
        return f"{text}."
    text += f" and waiting for the hash unit {units.duration(split['hash_wait'])}"
    busy, lanes = run.number("hash_unit.utilisation"), run.number("hash_unit.lanes")
    if busy is None or lanes is None:
        return f"{text}."
    queue = run.number("hash_unit.queue_max")
    text += f": the unit, with {units.plural(lanes, 'lane')}, works {units.percent(busy * 100.0)} of the time"
    if queue:
        text += f", and up to {units.count(queue)} pages stand before it at once"
    return f"{text} (`engine.hash_lanes`)."


def _waited(found: ledger.Ledger) -> str:
    """What some requests waited for longest: `62.1 % of it waiting for erases at the chip`; empty when not known."""
    if found.longest is None or found.total_ns <= 0:
        return ""
    charge, ns = found.longest
    share = ns / found.total_ns * 100.0
    return f"{units.percent(share)} of it waiting for {ledger.words(charge)}" if share >= _TOLD_PERCENT else ""


def slowest(run: SavedRun, base: SavedRun, kind: str) -> str:
    """What the slowest requests of two runs wait for."""
    told = []
    for one in (run, base):
        found = ledger.ledger(one, kind, ledger.SLOWEST_PERCENT)
        if found is not None and (words := _waited(found)):
            told.append(f"{units.duration(found.total_ns)} on average under `{one.label}`, {words}")
    return f"They take {'; '.join(told)}." if told else ""


def differences(run: SavedRun, other: SavedRun) -> list[ground.Difference]:
    """What differs between two runs' configurations."""
    return ground.differences({one.name: one.config for one in (other, run)})


def differs_only_in(run: SavedRun, other: SavedRun, keys: tuple[str, ...]) -> bool:
    """Whether the other run is this one with something switched off: no key differs but the given ones."""
    return all(one.key.startswith(keys) for one in differences(run, other))


def besides(run: SavedRun, other: SavedRun, keys: tuple[str, ...]) -> str:
    """The keys that differ besides the given ones, as code; empty where none does."""
    return units.names([one.key for one in differences(run, other) if not one.key.startswith(keys)])


def unlike_ground(run: SavedRun, other: SavedRun) -> str:
    """A sentence naming the ground that differs between two runs and moves times; empty where none does."""
    keys = [one.key for one in differences(run, other) if one.warns]
    if not keys:
        return ""
    verb = "moves" if len(keys) == 1 else "move"
    return f"They also differ in {units.names(keys)}, which {verb} times whatever the design does (`--equal-ground`)."


def of_choice(run: SavedRun, base: SavedRun) -> str:
    """In which parts of the time two runs differ, and what else does."""
    return f"{parts(run, base, 'all')} {unlike_ground(run, base)}".strip()
