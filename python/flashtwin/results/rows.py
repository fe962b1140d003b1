"""One row a trace: every scalar of a characterization flat, and the figures that its tables hold.

Pure. The names below are those of `Characterization.row`, of the table of many traces and of the advice.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from flashtwin.results.trees import leaves

Scalar = bool | int | float | str | None
Rows = Sequence[Mapping[str, Any]]

#: The tables that a row is made from; the others are looked at as charts only.
TABLES = ("partitions", "write_amplification", "read_amplification", "read_cost", "locality_gain")

#: Block size and over-provisioning that the row's write amplifications stand for (SWC 3.3).
BLOCK_PAGES, LOW_PROVISION = 128, 7.0
#: Page sizes whose cost is compared (SWC 4; 4-32 KB).
PAGE_SIZES = (4_096, 8_192, 16_384, 32_768)
#: The largest distance of SWC Fig. 15 in pages, and the longest time of Fig. 16 in requests.
DISTANCE, TIME = 64, 250
#: Page size of the figures about partitions: the write size of file systems (SWC 4).
PAGE_BYTES = 4_096

#: Where the row holds fingerprints for 90 % of the repeats, and the space that distinct contents take.
ENTRIES = "value_locality.write.content.entries_for_90_percent_of_reaccesses"
SPACE = "space.contents_of_pages_held_percent"


def flat(summary: Mapping[str, Any], tables: Mapping[str, Rows]) -> dict[str, Scalar]:
    """The row: scalars of the summary under dotted names, then figures derived from the tables."""
    row: dict[str, Scalar] = {key: value for key, value in leaves(summary) if not isinstance(value, list)}
    for part in (_partitions, _reading, _locality):
        row.update(part(tables))
    return row


def _partitions(tables: Mapping[str, Rows]) -> dict[str, Scalar]:
    """Partitions for f_r <= 2 and 3 with their write amplification and overhead, beside one partition."""
    found: dict[str, Scalar] = {}
    rows = tables.get("partitions", ())
    page = _page(rows)
    for ratio, name in ((1.5, "fr1.5"), (2.0, "fr2"), (3.0, "fr3")):
        needed = [row for row in rows if row.get("page_bytes") == page and row.get("frequency_ratio") == ratio]
        found[f"partitions_{name}"] = needed[0].get("partitions") if needed else None
    every = [
        row
        for row in tables.get("write_amplification", ())
        if row.get("block_pages") == BLOCK_PAGES and row.get("over_provisioning_percent") == LOW_PROVISION
    ]
    usual = [row for row in every if row.get("page_bytes") == _page(every)]
    found["wa_page_bytes"] = _page(every)
    found["wa_partitions_1"] = _first(usual, "write_amplification", purpose="grid", partitions_asked=1)
    for purpose, name in (("f_r<=2", "fr2"), ("f_r<=3", "fr3")):
        found[f"wa_{name}"] = _first(usual, "write_amplification", purpose=purpose)
        found[f"overhead_{name}"] = _first(usual, "partitioning_overhead", purpose=purpose)
    for size in PAGE_SIZES:
        rows = [row for row in every if row.get("page_bytes") == size]
        found[f"wa_fr3_{size}"] = _first(rows, "write_amplification", purpose="f_r<=3")
    found["wa_why_missing"] = _first(every, "why_missing")
    return found


def _page(rows: Rows) -> int | None:
    """4 KB when the rows have it, the smallest page size otherwise."""
    pages = {page for row in rows if isinstance(page := row.get("page_bytes"), int)}
    return PAGE_BYTES if PAGE_BYTES in pages else min(pages, default=None)


def _first(rows: Rows, column: str, **where: Any) -> Any:
    """The first value there is of a column, among the rows that hold the given values."""
    return next((row[column] for row in rows if row.get(column) is not None and where.items() <= row.items()), None)


def _reading(tables: Mapping[str, Rows]) -> dict[str, Scalar]:
    """Read amplification with a buffer of one page, and flash time of whole and partial reads."""
    found: dict[str, Scalar] = {}
    for size in PAGE_SIZES:
        found[f"ra_{size}"] = _first(
            tables.get("read_amplification", ()), "read_amplification", page_bytes=size, cache_pages=1
        )
        for way in ("full", "partial"):
            found[f"read_{way}_ns_{size}"] = _first(
                tables.get("read_cost", ()), f"{way}_ns", page_bytes=size, chip="slc-mlc"
            )
    return found


def _locality(tables: Mapping[str, Rows]) -> dict[str, Scalar]:
    """The gain of waiting at the largest distance, and of distance at the longest time, that SWC shows."""
    found: dict[str, Scalar] = {}
    for kind in ("write", "read"):
        rows = [row for row in tables.get("locality_gain", ()) if row.get("kind") == kind]
        found[f"{kind}_gain_of_waiting"] = _first(rows, "gain", along="time", at=DISTANCE)
        found[f"{kind}_gain_of_distance"] = _first(rows, "gain", along="distance", at=TIME)
    return found
