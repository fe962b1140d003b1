"""One line about a preset, taken from its file."""

from __future__ import annotations

import tomllib


def described(toml: str) -> str:
    """What a preset says of itself: its `description`, or else its first comment; up to the first full stop."""
    text = str(tomllib.loads(toml).get("description") or _first_comment(toml))
    return text.split(". ", maxsplit=1)[0].rstrip(".")


def _first_comment(toml: str) -> str:
    lines = []
    for line in toml.splitlines():
        if not line.startswith("#"):
            break
        lines.append(line.lstrip("#").strip())
    return " ".join(lines).strip()
