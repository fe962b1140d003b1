"""The format of result folders and stores: one number, raised when readers need something that older ones lack."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from flashtwin.errors import ReportError

FORMAT = 2
#: What folders lack that were written in an earlier format.
_LACKING = {1: "no intervals and no choice"}


def lacking(file: Path, facts: Mapping[str, Any], command: str) -> str:
    """What the results beside a file lack, in a sentence with the command that makes them again; empty for nothing.

    Raises `ReportError` for results of a later format.
    """
    number, version = facts.get("format", 1), facts.get("flashtwin", "an unknown version")
    # A damaged file may have anything there.
    if isinstance(number, int) and number in _LACKING:
        return f"Made by flashtwin {version}: {_LACKING[number]}; `{command}` makes it again."
    if number != FORMAT:
        raise ReportError(
            f"{file}: made by flashtwin {version} in format {number}, and this version reads up to {FORMAT}; update "
            f"flashtwin, or make it again: `{command}`"
        )
    return ""
