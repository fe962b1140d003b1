"""The digest of a policy: over its syntax, and over all values that it refers to, recursively.

`K = 3` beside `def f(h): return h + K` counts: another K is another policy. Positions, comments, docstrings and
annotations do not. Installed packages count by their version. What has no stable text, such as a function without
source or an open file, cannot be covered, and whoever keeps results by the digest refuses it.
"""

from __future__ import annotations

import ast
import enum
import functools
import hashlib
import inspect
import sys
import textwrap
from collections.abc import Iterator
from types import BuiltinFunctionType, CodeType, FunctionType, MappingProxyType, ModuleType
from typing import Any

import numpy as np

#: Attributes of a class that say nothing about what it does.
_SKIPPED = {
    "__dict__", "__weakref__", "__doc__", "__module__", "__qualname__", "__annotations__", "__firstlineno__",
    "__static_attributes__", "__flashtwin_policy__", "__abstractmethods__", "__annotate__", "__annotations_cache__",
}  # fmt: skip


class Uncovered(Exception):  # noqa: N818 - no failure: the caller decides
    """Something that a digest cannot cover; the text says what."""


def digest(policy: Any) -> str:
    """The digest of a function or class, 16 hexadecimal digits.

    Raises:
        Uncovered: the policy refers to something without a stable text.
    """
    seen: dict[int, int] = {}
    hasher = hashlib.sha256()
    for part in _walk(policy, seen, []):
        hasher.update(f"{len(part)}:{part}".encode())
    return hasher.hexdigest()[:16]


def _walk(value: Any, seen: dict[int, int], path: list[Any]) -> Iterator[str]:
    """The parts of a text that stands for a value. `path` keeps temporary objects alive, whose ids are in `seen`."""
    kind = type(value)
    if value is None or value is Ellipsis or kind in (bool, int, float, complex, str, bytes):
        yield f"{kind.__name__} {value!r}"
        return
    if id(value) in seen:
        yield f"again {seen[id(value)]}"
        return
    seen[id(value)] = len(seen)
    path.append(value)
    if kind in (tuple, list, dict, MappingProxyType, set, frozenset):
        yield from _container(value, seen, path)
    elif isinstance(value, np.ndarray | np.generic) and value.dtype.hasobject is False:
        data = hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()
        yield f"array {value.dtype.str} {value.shape} {data}"
    elif isinstance(value, functools.partial | staticmethod | classmethod | property | enum.Enum):
        yield kind.__qualname__
        yield from _walk(_parts(value), seen, path)
    elif isinstance(value, ModuleType | FunctionType | BuiltinFunctionType | type) or callable(value):
        yield from _named(value, seen, path)
    else:
        raise Uncovered(f"{value!r}, of type {kind.__name__}, has no text that stays the same")


def _container(value: Any, seen: dict[int, int], path: list[Any]) -> Iterator[str]:
    kind = type(value)
    if kind in (tuple, list):
        yield f"{kind.__name__} {len(value)}"
        for one in value:
            yield from _walk(one, seen, path)
    elif kind in (dict, MappingProxyType):
        yield f"dict {len(value)}"
        for key, one in value.items():
            yield from _walk(key, seen, path)
            yield from _walk(one, seen, path)
    else:
        # Sets have no order of their own, so each member is a text by itself.
        yield f"set {sorted(list(_walk(one, {}, path)) for one in value)}"


def _parts(value: Any) -> tuple[Any, ...]:
    """What decides about a wrapper around other values."""
    if isinstance(value, functools.partial):
        return value.func, value.args, value.keywords
    if isinstance(value, property):
        return value.fget, value.fset, value.fdel
    return (type(value), value.name) if isinstance(value, enum.Enum) else (value.__func__,)


def _named(value: Any, seen: dict[int, int], path: list[Any]) -> Iterator[str]:
    """Something with a name: by the version of its package where that is installed, otherwise by its source."""
    name = value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", None)
    if _is_whole(value) and isinstance(name, str) and (version := _version(name.partition(".")[0])):
        yield f"{name}:{getattr(value, '__qualname__', type(value).__qualname__)} {version}"
        return
    if isinstance(value, FunctionType):
        yield from _function(value, seen, path)
    elif isinstance(value, type) and not issubclass(value, enum.Enum):
        attributes = {key: one for key, one in vars(value).items() if key not in _SKIPPED}
        yield f"class {value.__qualname__}"
        yield from _walk((value.__bases__, attributes), seen, path)
    elif isinstance(value, enum.EnumMeta):
        members: Any = value.__members__
        yield f"enum {value.__qualname__} {[(name, repr(one.value)) for name, one in members.items()]}"
    elif isinstance(value, ModuleType):
        raise Uncovered(
            f"the module {name} is no installed package; import the names that you need: from {name} import ..."
        )
    elif callable(inner := getattr(value, "__wrapped__", None)):  # For example of `functools.cache`.
        yield type(value).__qualname__
        yield from _walk(inner, seen, path)
    else:
        raise Uncovered(f"{value!r} has no source in Python")


def _is_whole(value: Any) -> bool:
    """Whether the name of something says all: no method of an object, no function made around other values."""
    owner = getattr(value, "__self__", None)
    named = isinstance(value, ModuleType | FunctionType | BuiltinFunctionType | type | np.ufunc)
    return (
        named and isinstance(owner, ModuleType | type | None) and "<locals>" not in getattr(value, "__qualname__", "")
    )


@functools.cache
def _version(package: str) -> str | None:
    """The version of an installed package or of Python for its own modules; None of other modules."""
    if package in (sys.stdlib_module_names | {"builtins"}) - {"__main__"}:
        return f"Python {sys.version_info.major}.{sys.version_info.minor}"
    module = sys.modules.get(package)
    places = [str(one) for one in (getattr(module, "__file__", None), *getattr(module, "__path__", ())) if one]
    if package != "flashtwin" and not any("site-packages" in one or "dist-packages" in one for one in places):
        return None
    if isinstance(version := getattr(module, "__version__", None), str):
        return version
    from importlib.metadata import packages_distributions  # slow to load
    from importlib.metadata import version as version_of

    owners = packages_distributions().get(package)
    return version_of(owners[0]) if owners else None


def _function(value: FunctionType, seen: dict[int, int], path: list[Any]) -> Iterator[str]:
    tree = _syntax(value)
    yield ast.dump(tree)
    yield from _walk((value.__defaults__, value.__kwdefaults__), seen, path)
    cells = dict(zip(value.__code__.co_freevars, value.__closure__ or (), strict=True))
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)} | {"__class__"}
    for name in sorted(names & {*cells, *value.__globals__}):
        if name not in cells and not _reads(value.__code__, name):
            continue
        yield f"name {name}"
        try:
            yield from _walk(cells[name].cell_contents if name in cells else value.__globals__[name], seen, path)
        except ValueError:  # A cell that is still empty.
            yield "empty"
        except Uncovered as error:
            raise Uncovered(f"{name} in {value.__qualname__}: {error}") from None


def _reads(code: CodeType, name: str) -> bool:
    """Whether a function, or one within it, reads a global or an attribute of this name."""
    return name in code.co_names or any(_reads(one, name) for one in code.co_consts if isinstance(one, CodeType))


class _Bare(ast.NodeTransformer):
    """Leaves out what does not decide: decorators, annotations, docstrings."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        self.generic_visit(node)
        node.decorator_list, node.returns = [], None
        first = node.body[0]
        if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
            node.body = node.body[1:] or [ast.Pass()]
        return node

    def visit_arg(self, node: ast.arg) -> ast.AST:
        node.annotation = None
        return node


def _syntax(function: FunctionType) -> ast.AST:
    cause = f"{function.__qualname__} has no source in Python"
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function.__code__)))
    except (OSError, TypeError, SyntaxError):
        raise Uncovered(f"{cause}; define it in a file or a notebook with `def`") from None
    if len(tree.body) != 1 or not isinstance(tree.body[0], ast.FunctionDef):
        raise Uncovered(f"{cause} of its own; define it with `def`")
    bare: ast.AST = _Bare().visit(tree.body[0])
    return bare
