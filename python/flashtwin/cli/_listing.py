"""One line about a preset, taken from its file."""

from __future__ import annotations

import tomllib


def described(toml: str) -> str:
    """The summary of a preset: its `description`, or else its first comment; up to the first full stop."""
    text = str(tomllib.loads(toml).get("description") or _first_comment(toml))
    return _first_sentence(text).rstrip(".")


def _first_sentence(text: str) -> str:
    """Up to the first full stop outside parentheses: sources in them have abbreviations."""
    depth = 0
    for at, character in enumerate(text):
        depth += {"(": 1, ")": -1}.get(character, 0)
        if depth == 0 and text[at : at + 2] == ". ":
            return text[:at]
    return text


def _first_comment(toml: str) -> str:
    lines = []
    for line in toml.splitlines():
        if not line.startswith("#"):
            break
        lines.append(line.lstrip("#").strip())
    return " ".join(lines).strip()
