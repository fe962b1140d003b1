"""Plain English: patterns of hard and of plain sentences, counted in manual and comments; limits per text.

python tests/test_english.py            print the table of counts
python tests/test_english.py TEXT WORD  print the lines of a text that match a pattern, for example: manual noun-what
"""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
LIST = ROOT / "tests" / "data" / "english.toml"
PER_WORDS = 10_000
MANUAL_MOST_WORDS = 45_000
#: Pages that present results of studies: made from data, counted by themselves.
EVIDENCE = (
    "captured-traces", "comparison", "evidence", "findings", "gains", "mechanisms", "performance", "real-drives",
    "reproduction", "reproduction-items", "set-ups", "validation",
)  # fmt: skip


@dataclass(frozen=True)
class Pattern:
    """One pattern with its limits, per 10,000 words."""

    name: str
    why: str
    regex: re.Pattern[str]
    most: float | None = None
    least: float | None = None

    def rate(self, text: str) -> float:
        """Matches per 10,000 words."""
        return PER_WORDS * len(self.regex.findall(text)) / max(words(text), 1)

    def holds(self, rate: float) -> bool:
        """Whether a rate is within the limits."""
        return (self.most is None or rate < self.most) and (self.least is None or rate > self.least)

    def limit(self) -> str:
        """The limit as text, such as `< 20`."""
        return f"< {self.most:g}" if self.most is not None else f"> {self.least:g}"


def patterns(text: str = "") -> list[Pattern]:
    """The list that the repository keeps, with the limits of a text."""
    found = tomllib.loads(LIST.read_text(encoding="utf-8"))
    other = found["limits"].get(text, {})

    def limits(one: dict[str, Any]) -> dict[str, Any]:
        name = "most" if "most" in one else "least"
        return {name: other.get(one["name"], one[name])}

    return [Pattern(**{**one, **limits(one), "regex": re.compile(one["regex"])}) for one in found["pattern"]]


def words(text: str) -> int:
    """Words that begin with a letter: neither numbers nor the bars of tables."""
    return len(re.findall(r"(?<![\w'-])[A-Za-z][\w'-]*", text))


def prose(markdown: str) -> str:
    """Markdown without front matter, comments, fenced code, addresses; inline code becomes the one word `code`.

    A paragraph becomes one line: a pattern may not hide behind a line break.
    """
    text = re.sub(r"<!--.*?-->", " ", markdown, flags=re.DOTALL)
    text = re.sub(r"^ *(```|~~~).*?^ *\1[^\n]*$", "", text, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"`+[^`\n]+`+", "code", text)
    text = re.sub(r"\]\([^)\s]*\)", "]", text)
    return re.sub(r"(?<=\S)\n(?=[^\s#|*-])", " ", text)


def manual_files() -> list[Path]:
    """Pages of the manual: neither evidence nor decisions."""
    pages = [path for path in sorted((ROOT / "docs").glob("*.md")) if path.stem not in EVIDENCE]
    return [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *pages]


def manual() -> str:
    return "\n\n".join(prose(path.read_text(encoding="utf-8")) for path in manual_files())


def evidence() -> str:
    return "\n\n".join(prose((ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8")) for name in EVIDENCE)


#: Rust's tokens in which `//` does not begin a comment, then comments.
RUST = re.compile(
    r"""(?P<skip>b?r(?P<hash>\#*)".*?"(?P=hash) | b?"(?:\\.|[^"\\])*" | b?'(?:\\[^\n]{1,9}?|[^'\\\n])')
      | (?P<line>//[^\n]*) | (?P<block>/\*.*?\*/)""",
    re.DOTALL | re.VERBOSE,
)


def rust_comments(source: str) -> str:
    """The comments of a Rust file; comments on consecutive lines stay together."""
    lines: list[str] = []
    end = 0
    for found in RUST.finditer(source):
        comment = found["line"] or found["block"]
        if comment is None:
            continue
        between = source[end : found.start()]
        if between.strip() or between.count("\n") > 1:
            lines.append("")
        end = found.end()
        lines += [re.sub(r"^\s*(?://[/!]?|/\*[*!]?|\*/|\*)\s?|\*/$", "", line) for line in comment.splitlines()]
    return prose("\n".join(lines))


def rust() -> str:
    files = sorted((ROOT / "crates").rglob("*.rs"))
    return "\n\n".join(rust_comments(path.read_text(encoding="utf-8")) for path in files if "target" not in path.parts)


def python_comments(source: str) -> str:
    """Docstrings and comments of a Python file, without the examples that doctest reads."""
    parts: list[str] = []
    last = -2
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            parts += [""] if token.start[0] != last + 1 else []
            last = token.start[0]
            parts.append(token.string.lstrip("#:! "))
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            text = ast.get_docstring(node) or ""
            parts += ["", re.sub(r"^ *>>> .*\n?(?:^ *\S.*\n?)*", "", text, flags=re.MULTILINE)]
    return prose("\n".join(parts))


def python() -> str:
    files = sorted((ROOT / "python" / "flashtwin").rglob("*.py*"))
    sources = [path.read_text(encoding="utf-8") for path in files if path.suffix in (".py", ".pyi")]
    return "\n\n".join(python_comments(source) for source in sources)


TEXTS: dict[str, Callable[[], str]] = {
    "manual": manual, "evidence": evidence, "rust comments": rust, "python comments": python,
}  # fmt: skip


@pytest.mark.parametrize("text", TEXTS)
def test_patterns_are_within_their_limits(text: str) -> None:
    found = TEXTS[text]()
    rates = {one: one.rate(found) for one in patterns(text)}
    over = [
        f"{one.name}: {rate:.1f} in {PER_WORDS:,} words ({one.limit()}). {one.why}"
        for one, rate in rates.items()
        if not one.holds(rate)
    ]
    assert not over, f"`python tests/test_english.py '{text}' PATTERN` lists the places"


def test_the_manual_stays_short() -> None:
    """Counted as `wc -w` does, so with code and with the bars of tables."""
    count = sum(len(path.read_text(encoding="utf-8").split()) for path in manual_files())
    assert count <= MANUAL_MOST_WORDS


def test_code_is_not_prose() -> None:
    page = "A rule\nin `what is` words:\n\n```text\nwhat the code holds\n```\n<!-- what a note -->\nend [what](is.md)\n"
    assert prose(page).split() == ["A", "rule", "in", "code", "words:", "end", "[what]"]
    source = 'let a = "// what is"; // for what\n/// the drive\nlet b = r#"/* what a"#; let c = \'"\'; // end\n'
    assert rust_comments(source).split() == ["for", "what", "the", "drive", "end"]
    assert patterns()[0].regex.findall(rust_comments(source)) == ["what the"]
    module = '"""What a day.\n\n>>> what_is\n1\n"""\nx = "# what the"  # such as\n'
    assert python_comments(module).split() == ["such", "as", "What", "a", "day."]


def table() -> Iterator[str]:
    """The counts of every text, as lines."""
    texts = {name: text() for name, text in TEXTS.items()}
    limits = {name: patterns(name) for name in texts}
    yield f"{'per 10,000 words':24}{'limit':>8}" + "".join(f"{name:>17}" for name in texts)
    for place, one in enumerate(patterns()):
        found = [(limits[name][place], limits[name][place].rate(text)) for name, text in texts.items()]
        cells = "".join(f"{rate:>16.1f}{' ' if its.holds(rate) else '!'}" for its, rate in found)
        yield f"{one.name:24}{one.limit():>8}{cells}"
    yield f"{'words':32}" + "".join(f"{words(text):>16,} " for text in texts.values())
    yield ""
    for path in manual_files():
        yield f"{len(path.read_text(encoding='utf-8').split()):>8,} {path.relative_to(ROOT)}"
    yield f"{sum(len(path.read_text(encoding='utf-8').split()) for path in manual_files()):>8,} words, by wc -w"


def places(text: str, name: str) -> Iterator[str]:
    """The lines of a text that match a pattern, cut to the match and what is around it."""
    found = TEXTS[text]()
    pattern = next(one for one in patterns() if one.name.startswith(name))
    for match in pattern.regex.finditer(found):
        yield " ".join(found[max(match.start() - 70, 0) : match.end() + 50].split())


if __name__ == "__main__":
    print("\n".join(places(*sys.argv[1:3]) if sys.argv[2:] else table()))  # noqa: T201 - its output
