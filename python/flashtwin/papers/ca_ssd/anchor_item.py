"""CA-SSD: the one absolute time that the paper names, as the anchor of its rate. An item of ours.

Section 5.2: with 16 K hashes the mean response of `homes` is "about 7 ms" shorter. A cut in percent hangs on the rate
like this one in milliseconds; so the rate at which the one is met foretells the other for all three workloads.
"""

from __future__ import annotations

from collections.abc import Mapping

from flashtwin.papers.bench import PaperRun, Stand, reduction
from flashtwin.papers.ca_ssd import published
from flashtwin.papers.ca_ssd.common import ALL, CA_SSD, NAMES, TRADITIONAL, device, pair
from flashtwin.papers.ca_ssd.drive_items import EMPTY, FULL, blocks_for, run_on, traditional_wa
from flashtwin.papers.ca_ssd.result_items import entries
from flashtwin.papers.claims import Claim, number
from flashtwin.papers.model import Facts, Item, Outcome, chart, lines
from flashtwin.papers.text import percent
from flashtwin.settings import Value

#: Clocks between which the anchor is sought, beside the recorded one; the same for all workloads.
SPEEDS = (0.25, 0.5, 0.7, 1.0, 1.4, 2.0)
#: Where the drive has room, and where the traditional SSD begins full, as `begins-full` finds it.
ROOMY, BEGINS_FULL = "drive with room", "drive that begins full"
DRIVES = (ROOMY, BEGINS_FULL)
SMALL_STORE = 16_384


def measure_anchor(stand: Stand) -> Facts:
    """The saving of CA-SSD at each clock, in percent, and with 16 K hashes in milliseconds."""
    blocks = blocks_for(stand, traditional_wa(stand.name))
    small = entries(stand, SMALL_STORE)
    found: Facts = {drive: {} for drive in DRIVES}
    for speed in SPEEDS:
        clock: dict[str, Value] = {"replay.speed": speed}
        runs = pair(stand, {**device(stand), **clock})
        limited = pair(stand, {**device(stand), **clock}, fingerprint_entries=small)[CA_SSD]
        found[ROOMY][f"{speed:g}"] = _saved(runs[TRADITIONAL], runs[CA_SSD], limited)
        before = run_on(stand, TRADITIONAL, blocks, FULL, **clock)
        after = run_on(stand, CA_SSD, blocks, EMPTY, **clock)
        limited = run_on(stand, CA_SSD, blocks, EMPTY, **clock, fingerprint_entries=small)
        found[BEGINS_FULL][f"{speed:g}"] = _saved(before, after, limited)
    return found


def _saved(before: PaperRun, after: PaperRun, limited: PaperRun) -> Facts:
    means = before.get(ALL), limited.get(ALL)
    return {
        "cut": reduction(before, after, ALL),
        "shorter_ms": None if None in means else (means[0] - means[1]) / 1e6,  # type: ignore[operator]
    }


def nearest(homes: Mapping[str, Facts]) -> float | None:
    """The clock at which the cut of homes is nearest to the published one."""
    off = {
        speed: abs(saved - published.SHORTER_MS)
        for speed in SPEEDS
        if (saved := homes.get(f"{speed:g}", {}).get("shorter_ms")) is not None
    }
    return min(off, key=lambda speed: (off[speed], speed), default=None)


def judge_anchor(facts: Mapping[str, Facts]) -> Outcome:
    """The milliseconds at the recorded clock; and where they are met, the cuts of all workloads."""
    claims: list[Claim] = []
    notes = []
    for drive in DRIVES:
        homes = facts.get("homes", {}).get(drive, {})
        recorded = homes.get("1", {}).get("shorter_ms")
        quantity = f"{drive}, 16 K entries: shorter by, recorded clock"
        claims.append(number("homes", quantity, published.SHORTER_MS, recorded, "ms", effect=True))
        speed = nearest(homes)
        for name in NAMES:
            cut = facts.get(name, {}).get(drive, {}).get(f"{speed:g}", {}).get("cut") if speed else None
            why = "" if speed else "homes, whose rate is the anchor, is not part of this run"
            what = f"{drive}: response time, cut, at the anchored clock"
            claims.append(number(name, what, published.RESPONSE[name], cut, effect=True, why=why))
        if speed:
            at = homes[f"{speed:g}"]["shorter_ms"]
            notes.append(
                f"{drive}: homes with 16 K entries is shorter by {at:.2f} ms at {speed:g} times the recorded clock, of "
                f"the {len(SPEEDS)} clocks most nearly the published {published.SHORTER_MS:g} ms."
            )
    return Outcome(claims, _chart(facts), notes, [_table(facts)] if facts else [])


def _table(facts: Mapping[str, Facts]) -> dict[str, object]:
    rows = []
    for drive in DRIVES:
        for speed in SPEEDS:
            key = f"{speed:g}"
            saved = facts.get("homes", {}).get(drive, {}).get(key, {}).get("shorter_ms")
            cuts = [percent(facts.get(name, {}).get(drive, {}).get(key, {}).get("cut")) for name in NAMES]
            rows.append([drive, key, "–" if saved is None else f"{saved:.2f} ms", *cuts])
    header = ["drive", "replay.speed", "homes, 16 K entries: shorter by", *(f"{name}: cut" for name in NAMES)]
    published_row = ["published", "", f"{published.SHORTER_MS:g} ms", *(percent(published.RESPONSE[n]) for n in NAMES)]
    return {"title": "The mean response by clock", "header": header, "rows": [published_row, *rows]}


def _chart(facts: Mapping[str, Facts]) -> dict[str, object] | None:
    homes = facts.get("homes")
    if not homes:
        return None
    series = [(drive, SPEEDS, [homes[drive][f"{speed:g}"]["shorter_ms"] for speed in SPEEDS]) for drive in DRIVES]
    return chart(lines(series, "times the trace's clock", "homes, 16 K entries: shorter by, ms", x_log=True))


ITEM = Item(
    "anchor", "About 7 ms: the rate that the paper gives away", "5.2, Fig. 7", NAMES, measure_anchor, judge_anchor
)
