"""Where a change is put into the source: the expressions, arms and functions that the listed bytes belong to."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from enum import IntEnum

import tree_sitter_rust
from tree_sitter import Language, Node, Parser

from tests.mutants.listing import Mutant, Span

PARSER = Parser(Language(tree_sitter_rust.language()))

#: Text whose value must be known when it is compiled, where no switch can be asked.
CONSTANT = {"const_item", "static_item", "array_type", "const_block", "enum_variant", "const_parameter"}
#: What an operator may stand in.
OPERATIONS = {"binary_expression", "compound_assignment_expr", "let_chain"}
#: An operand that needs no parentheses, whatever stands beside it.
SIMPLE = {
    "identifier", "self", "integer_literal", "float_literal", "boolean_literal", "field_expression", "call_expression",
    "parenthesized_expression", "index_expression", "scoped_identifier", "string_literal", "macro_invocation",
}  # fmt: skip


class Kind(IntEnum):
    """What a site is; of two at the same bytes, the smaller stands around the other."""

    FUNCTION = 0
    ARM = 1
    STRUCT = 2
    BINARY = 3
    UNARY = 4


class OwnBuildError(Exception):
    """The change cannot be switched: it needs a build of its own."""


class NotViableError(Exception):
    """The change cannot be compiled, whoever does it."""


@dataclass
class Site:
    """A stretch of source that is written as a choice between itself and changes of it."""

    kind: Kind
    span: Span
    node: Node
    mutants: list[Mutant] = field(default_factory=list)
    inner: list[Site] = field(default_factory=list)


def found(source: bytes, mutants: Iterable[Mutant]) -> tuple[list[Site], dict[int, Exception]]:
    """The outermost sites of a file, others within them, and why changes have none."""
    root = PARSER.parse(source).root_node
    sites: dict[tuple[Kind, int, int], Site] = {}
    without: dict[int, Exception] = {}
    for mutant in mutants:
        try:
            site = FINDERS[mutant.genre](root, mutant)
        except (OwnBuildError, NotViableError) as reason:
            without[mutant.number] = reason
            continue
        site = sites.setdefault((site.kind, site.span.start, site.span.end), site)
        site.mutants.append(mutant)
    return nested(sites.values()), without


def nested(sites: Iterable[Site]) -> list[Site]:
    """Puts sites into those around them; returns the outermost."""
    outermost: list[Site] = []
    open_: list[Site] = []
    for site in sorted(sites, key=order):
        while open_ and not (site.span.start < open_[-1].span.end and site.span.end <= open_[-1].span.end):
            open_.pop()
        (open_[-1].inner if open_ else outermost).append(site)
        open_.append(site)
    return outermost


def order(site: Site) -> tuple[int, bool, int, Kind]:
    """By place, what stands around first; what is put before a body stands around nothing."""
    return site.span.start, site.kind != Kind.FUNCTION, -site.span.end, site.kind


def function(root: Node, mutant: Mutant) -> Site:
    """The begin of the body whose value is replaced."""
    body = around(root, mutant.span, lambda node: node.type == "block" and is_body(node))
    if is_constant(body):
        raise OwnBuildError("in a const function")
    begin = body.start_byte + 1
    result = tail(body) if mutant.returns.startswith("-> impl Iterator") else None
    return Site(Kind.FUNCTION, Span(begin, result.end_byte if result else begin), body)


def tail(block: Node) -> Node | None:
    """The expression at the end of a block, which is its value."""
    last = [one for one in block.named_children if "comment" not in one.type][-1:]
    if not last or last[0].type == "let_declaration" or last[0].type.endswith("_item"):
        return None
    return None if last[0].children and last[0].children[-1].type == ";" else last[0]


def binary(root: Node, mutant: Mutant) -> Site:
    """The expression around an operator."""
    node = around(root, mutant.span, lambda node: node.type in OPERATIONS)
    if node.type == "let_chain":
        if mutant.replacement == "||":
            raise NotViableError("`||` cannot stand in a let chain")
        raise OwnBuildError("in a let chain")
    if not any((one.start_byte, one.end_byte) == (mutant.span.start, mutant.span.end) for one in node.children):
        raise OwnBuildError("not the operator of an expression")
    return switched(Kind.BINARY, node)


def unary(root: Node, mutant: Mutant) -> Site:
    """The expression that an operator begins."""
    node = around(root, mutant.span, lambda node: node.type == "unary_expression")
    if node.start_byte != mutant.span.start:
        raise OwnBuildError("not the operator of an expression")
    return switched(Kind.UNARY, node)


def arm(root: Node, mutant: Mutant) -> Site:
    """The guard of a match arm, or the place where it would stand."""
    node = around(root, mutant.span, lambda node: node.type == "match_arm")
    pattern = child(node, "pattern")
    condition = pattern.child_by_field_name("condition")
    if condition and condition.type in {"let_chain", "let_condition"}:
        raise OwnBuildError("a guard with `let`")
    begin = next(one for one in pattern.children if one.type == "if").start_byte if condition else pattern.end_byte
    site = switched(Kind.ARM, node)
    site.span = Span(begin, pattern.end_byte)
    return site


def structure(root: Node, mutant: Mutant) -> Site:
    """The expression that a field is left out of."""
    return switched(Kind.STRUCT, around(root, mutant.span, lambda node: node.type == "struct_expression"))


FINDERS: dict[str, Callable[[Node, Mutant], Site]] = {
    "FnValue": function,
    "BinaryOperator": binary,
    "UnaryOperator": unary,
    "MatchArm": arm,
    "MatchArmGuard": arm,
    "StructField": structure,
}


def switched(kind: Kind, node: Node) -> Site:
    """The site of an expression, where a switch can be asked."""
    if is_constant(node):
        raise OwnBuildError("its value is needed when it is compiled")
    return Site(kind, Span(node.start_byte, node.end_byte), node)


def around(root: Node, span: Span, wanted: Callable[[Node], bool]) -> Node:
    """The smallest wanted node that holds all of `span`."""
    node = root.descendant_for_byte_range(span.start, span.end)
    while node is not None and not wanted(node):
        if node.type in {"token_tree", "ERROR"}:
            raise OwnBuildError("in a macro")
        node = node.parent
    if node is None:
        raise OwnBuildError("not found in the source")
    return node


def is_body(block: Node) -> bool:
    """Whether a block is a function's."""
    return block.parent is not None and block.parent.type == "function_item"


def is_constant(node: Node) -> bool:
    """Whether code there may be run by the compiler."""
    below, above = node, node.parent
    while above is not None:
        if above.type in CONSTANT:
            return True
        if above.type == "function_item":
            modifiers = [one for one in above.children if one.type == "function_modifiers"]
            return any(one.type == "const" for each in modifiers for one in each.children)
        if above.type == "array_expression" and above.child_by_field_name("length") == below:
            return True
        below, above = above, above.parent
    return False


def child(node: Node, name: str) -> Node:
    """The named field, which there is."""
    found = node.child_by_field_name(name)
    assert found is not None, name
    return found
