"""Writes a source file with all its changes in it, each behind a switch.

A choice is an `if` for each change and, last, the expression as it was. Only the last holds further choices: one
change is active at a time, and text that were to hold all of them in all branches would double with every level.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from tree_sitter import Node

from tests.mutants.listing import Mutant, Span
from tests.mutants.sites import SIMPLE, Kind, Site, child, found, tail

SWITCH = "::flashtwin_bits::mutant::is"
#: A function that returns `impl Iterator` returns one type, changed or not.
EITHER = "::flashtwin_bits::mutant::Either"
#: What, at the begin of a block, would be a statement by itself.
BLOCKLIKE = re.compile(rb"(unsafe|if|match|loop|while|for)\b|\{|'\w+:")


@dataclass(frozen=True)
class Region:
    """Bytes of the written file, and the changes that an error there speaks against."""

    span: Span
    mutants: tuple[int, ...]
    #: Whether it is the text of a change itself, and not of what switches it.
    own: bool


@dataclass
class Written:
    """A file with switches."""

    text: bytes
    regions: list[Region]
    #: Changes that are not in it, and why.
    without: dict[int, Exception]


@dataclass
class Writer:
    """Text as it grows, and where the changes are in it."""

    source: bytes
    parts: list[bytes] = field(default_factory=list)
    length: int = 0
    regions: list[Region] = field(default_factory=list)

    def put(self, text: str | bytes) -> None:
        """Appends text."""
        data = text if isinstance(text, bytes) else text.encode()
        self.parts.append(data)
        self.length += len(data)

    def of(self, node: Node) -> str:
        """The source of a node, without switches."""
        return self.source[node.start_byte : node.end_byte].decode()

    def change(self, mutant: Mutant, text: str) -> None:
        """Appends the text of a change."""
        begin = self.length
        self.put(text)
        self.regions.append(Region(Span(begin, self.length), (mutant.number,), own=True))

    def plain(self, span: Span, sites: Iterable[Site]) -> None:
        """Appends source, with the switches of the sites that lie in it."""
        at = span.start
        for site in sites:
            if span.start <= site.span.start and site.span.end <= span.end:
                self.put(self.source[at : site.span.start])
                self.site(site)
                at = site.span.end
        self.put(self.source[at : span.end])

    def site(self, site: Site) -> None:
        """Appends a choice."""
        begin = self.length
        WRITERS[site.kind](self, site)
        numbers = tuple(mutant.number for mutant in site.mutants)
        self.regions.append(Region(Span(begin, self.length), numbers, own=False))


def instrumented(source: bytes, mutants: Iterable[Mutant]) -> Written:
    """The file with all of `mutants` in it that can be."""
    sites, without = found(source, mutants)
    writer = Writer(source)
    writer.plain(Span(0, len(source)), sites)
    return Written(b"".join(writer.parts), writer.regions, without)


def is_active(mutant: Mutant) -> str:
    """The question whether a change is the active one."""
    return f"{SWITCH}({mutant.number})"


def function(writer: Writer, site: Site) -> None:
    """Returns what the body is replaced by, before anything is done."""
    result = tail(site.node) if site.span.start < site.span.end else None
    for mutant in site.mutants:
        writer.put(f" if {is_active(mutant)} {{ ")
        value = f"{EITHER}::instead({mutant.replacement})" if result else mutant.replacement
        writer.change(mutant, f"return {value};")
        writer.put(" }")
    if result:
        writer.plain(Span(site.span.start, result.start_byte), site.inner)
        writer.put(f"{EITHER}::Was(")
        writer.plain(Span(result.start_byte, result.end_byte), site.inner)
        writer.put(")")


def choice(writer: Writer, site: Site, changes: Iterable[tuple[Mutant, str]]) -> None:
    """Appends the changes of an expression and begins the branch of what it was."""
    writer.put("(")
    for mutant, text in changes:
        writer.put(f"if {is_active(mutant)} {{ ")
        writer.change(mutant, text)
        writer.put(" } else ")
    writer.put("{ ")
    rest(writer, site)
    writer.put(" })")


def rest(writer: Writer, site: Site) -> None:
    """What the expression was, with further choices in it."""
    apart = BLOCKLIKE.match(writer.source, site.span.start)
    writer.put("(" if apart else "")
    writer.plain(site.span, site.inner)
    writer.put(")" if apart else "")


def binary(writer: Writer, site: Site) -> None:
    """Puts other operators between the operands; these keep together, whatever binds more strongly."""
    left, right = child(site.node, "left"), child(site.node, "right")
    assigns = site.node.type == "compound_assignment_expr"
    before = writer.of(left) if assigns else operand(writer, left)
    after = writer.of(right) if assigns else operand(writer, right)
    choice(writer, site, [(mutant, f"{before} {mutant.replacement} {after}") for mutant in site.mutants])


def operand(writer: Writer, node: Node) -> str:
    """A node's source, fit to stand beside any operator."""
    text = writer.of(node)
    return text if node.type in SIMPLE else f"({text})"


def unary(writer: Writer, site: Site) -> None:
    """Leaves the operator out."""
    choice(writer, site, [(mutant, writer.of(site.node.children[-1])) for mutant in site.mutants])


def structure(writer: Writer, site: Site) -> None:
    """Leaves a field out, so that it has the value that it has in the base."""
    changes = []
    for mutant in site.mutants:
        end = mutant.span.end
        after = writer.source[end : site.span.end]
        stripped = after.lstrip()
        after = stripped[1:] if stripped.startswith(b",") else after
        changes.append((mutant, (writer.source[site.span.start : mutant.span.start] + after).decode()))
    choice(writer, site, changes)


def arm(writer: Writer, site: Site) -> None:
    """Deletes an arm by a guard that is never true; puts `true` or `false` where a guard stands."""
    condition = child(site.node, "pattern").child_by_field_name("condition")
    deleted = [mutant for mutant in site.mutants if mutant.genre == "MatchArm"]
    guards = [mutant for mutant in site.mutants if mutant.genre == "MatchArmGuard"]
    writer.put("if " if condition else " if ")
    for mutant in deleted:
        writer.change(mutant, f"!{is_active(mutant)}")
        writer.put(" && " if condition else "")
    if condition is None:
        return
    writer.put("(")
    for mutant in guards:
        writer.put(f"if {is_active(mutant)} {{ ")
        writer.change(mutant, mutant.replacement)
        writer.put(" } else ")
    writer.put("{ ")
    writer.plain(Span(condition.start_byte, condition.end_byte), site.inner)
    writer.put(" })")


WRITERS = {
    Kind.FUNCTION: function,
    Kind.ARM: arm,
    Kind.STRUCT: structure,
    Kind.BINARY: binary,
    Kind.UNARY: unary,
}
