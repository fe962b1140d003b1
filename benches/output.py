"""The output of `cargo bench -p flashtwin-sim --bench engine`, as numbers."""

from __future__ import annotations

import re

_NUMBER = r"[\d.,]+"
_SYSTEM = re.compile(
    rf"^(?P<name>\S+) +{_NUMBER} s +(?P<host>{_NUMBER}) M page ops/s, +(?P<share>{_NUMBER}) of the bare loop "
    rf"\( *(?P<bare>{_NUMBER}) M\), +(?P<flash>{_NUMBER}) M flash ops/s; "
    rf"tables (?P<page>{_NUMBER}|-) B/page, (?P<content>{_NUMBER}|-) B/content",
    re.MULTILINE,
)


def engine(text: str) -> dict[str, dict[str, float | None]]:
    """Each system beside its bare loop: M operations a second, their share of the loop's, bytes of tables.

    Raises:
        ValueError: the text is not the bench's output.
    """
    found = {}
    for match in _SYSTEM.finditer(text):
        cells = match.groupdict()
        name = cells.pop("name")
        found[name] = {key: None if cell == "-" else float(cell.replace(",", "")) for key, cell in cells.items()}
    if not found:
        raise ValueError(f"not what the bench of the engine prints: {text[:300]}")
    return found
