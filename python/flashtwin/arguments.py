"""Checks of the arguments of public functions by their annotations, before anything is read or replayed.

For example, `replay(trace, "rr-ssd", fill="90%")` is refused: fill is '90%', of type str: expected a number, or None.
"""

import difflib
import functools
import inspect
import numbers
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import import_module
from os import PathLike
from pathlib import Path
from types import FunctionType, GenericAlias, NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin

from flashtwin.errors import ArgumentError, ConfigError
from flashtwin.progress import Progress

_T = TypeVar("_T")
#: Types that others stand for as well, NumPy's numbers for example, with their words.
_PLAIN: Mapping[Any, tuple[Any, str]] = {
    bool: (bool, "True or False"), int: (numbers.Integral, "a whole number"), float: (numbers.Real, "a number"),
    str: (str, "a text"), Path: (PathLike, "a path"), PathLike: (PathLike, "a path"),
    Mapping: (Mapping, "a mapping"), Sequence: (Iterable, "a list"), Callable: (Callable, "a function"),
    Progress: (Callable, "a function"), NoneType: (NoneType, "None"),
}  # fmt: skip
#: Characters of a wrong value that are shown.
_SHOWN = 60


def checked(public: _T) -> _T:
    """A function that refuses arguments which do not fit its annotations; of a class, all its public methods do."""
    if isinstance(public, FunctionType):
        wrapped: _T = _checked(public)
        return wrapped
    for name, member in list(vars(public).items()):
        if isinstance(member, FunctionType) and not name.startswith("_"):
            setattr(public, name, _checked(member))
        elif isinstance(member, classmethod):
            setattr(public, name, classmethod(_checked(member.__func__)))
    return public


def expect(function: Any, given: Mapping[str, Any]) -> None:
    """Refuses values that do not fit the function's annotations; `given` has the names of its parameters."""
    _, kinds = _annotated(inspect.unwrap(function))
    for name, value in given.items():
        if not _fits(value, kinds[name]):
            raise ArgumentError(_refusal(name, value, kinds[name]))


def _checked(function: Any) -> Any:
    @functools.wraps(function)
    def call(*args: Any, **keywords: Any) -> Any:
        signature, kinds = _annotated(function)
        try:
            given = signature.bind(*args, **keywords).arguments
        except TypeError as error:
            unknown = next((word for word in keywords if word not in signature.parameters), "")
            raise ArgumentError(f"{function.__name__}: {error}{_nearest(unknown, kinds)}") from None
        expect(function, given)
        try:
            return function(*args, **keywords)
        except ConfigError as error:
            wrong = next((word for word in keywords if f"there is no key '{word}'" in str(error)), "")
            if hint := _nearest(wrong, kinds):
                raise ConfigError(f"{error}{hint}") from None
            raise

    return call


@functools.cache
def _annotated(function: Any) -> tuple[inspect.Signature, Mapping[str, Any]]:
    """The signature, and the type of each parameter; of keywords by any name, which are keys, their function knows."""
    signature = inspect.signature(function)
    kinds: dict[str, Any] = {}
    for name, one in signature.parameters.items():
        several = one.kind is one.VAR_KEYWORD or one.annotation is one.empty
        kinds[name] = Any if several else _type_of(one.annotation, function.__globals__)
        if one.kind is one.VAR_POSITIONAL:
            kinds[name] = GenericAlias(tuple, (kinds[name], ...))
    return signature, kinds


def _type_of(annotation: Any, names: dict[str, Any]) -> Any:
    if not isinstance(annotation, str):
        return annotation
    try:
        return eval(annotation, names)  # noqa: S307 - an annotation of our own
    except NameError as error:
        # Imported for type checkers alone, because it is slow to load or above the module.
        name = str(error.name)
        return _type_of(annotation, {**names, name: getattr(import_module("flashtwin"), name)})


def _fits(value: Any, kind: Any) -> bool:
    if kind is Any or isinstance(kind, TypeVar):
        return True
    origin = get_origin(kind) or kind
    if origin in (Union, UnionType):
        return any(_fits(value, one) for one in get_args(kind))
    if origin is Literal:
        return isinstance(value, str) and value in get_args(kind)
    if isinstance(value, bool):
        return origin is bool
    if origin is Sequence and isinstance(value, Mapping):
        return False
    if origin in (Sequence, tuple) and isinstance(value, list | tuple):
        return all(_fits(one, get_args(kind)[0]) for one in value)
    return isinstance(value, _PLAIN.get(origin, (origin,))[0])


def _refusal(name: str, value: Any, kind: Any) -> str:
    text = " ".join(repr(value).split())
    shown = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
    table = "; `ft.Trace.from_frame` makes a trace of a table" if hasattr(value, "__arrow_c_stream__") else ""
    return f"{name} is {shown}, of type {type(value).__name__}: expected {_words(kind)}{table}"


def _words(kind: Any) -> str:
    """A type as people say it; a class may say it itself, in `EXPECTED`."""
    origin = get_origin(kind) or kind
    if origin in (Union, UnionType):
        *some, last = dict.fromkeys(_words(one) for one in get_args(kind))
        return f"{', '.join(some)}, or {last}" if some else last
    if origin is tuple:
        return _words(get_args(kind)[0])
    if origin is Literal:
        return f"one of {', '.join(map(repr, get_args(kind)))}"
    return str(_PLAIN[origin][1] if origin in _PLAIN else getattr(origin, "EXPECTED", f"a {origin.__name__}"))


def _nearest(word: str, names: Iterable[str]) -> str:
    near = difflib.get_close_matches(word, names, n=1, cutoff=0.8) if word else []
    return f"; did you mean the argument '{near[0]}'?" if near else ""
