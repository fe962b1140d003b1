"""Examples in docstrings, as doctest reads them, become blocks of code in the reference. An extension of Griffe."""

import re
from typing import Any

import griffe

#: Lines that begin with a prompt, and what follows them up to an empty line.
EXAMPLE = re.compile(r"(?:^ *>>> .*\n?(?:^ *\S.*\n?)*)+", re.MULTILINE)


class FencedExamples(griffe.Extension):
    """Puts every example between fences."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Called for each function, class and attribute."""
        if obj.docstring is not None:
            obj.docstring.value = EXAMPLE.sub(fenced, obj.docstring.value)


def fenced(example: re.Match[str]) -> str:
    """One example between fences."""
    return f"```pycon\n{example.group().rstrip()}\n```\n"
