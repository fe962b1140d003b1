"""Verbs from functions: the signature and the docstring of a function are all that Click needs.

Parameters by position are arguments, parameters by keyword are options. Their help is the section `Args` of the
docstring, where a name may be followed by its metavar: `out (DIR): Folder for the results`. A parameter whose type is a
dataclass stands for one option for each field. A name that ends in `_s` or `_ns` is a time, and a final underscore is
not part of the option.
"""

import dataclasses
import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import click

from flashtwin.cli._types import Text, time, time_text

_SECTION = re.compile(r"\n+(?:Args|Attributes):\n")
Texts = Mapping[str, tuple[str | None, str]]
_ENTRY = re.compile(r"^ {4}(\w+)(?: \(([^)]*)\))?: ", re.MULTILINE)


@dataclasses.dataclass(frozen=True)
class Shared:
    """Help, metavar and spelling of an option that several verbs have."""

    text: str = ""
    metavar: str | None = None
    spelling: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class _Group:
    """A parameter that several options are gathered into."""

    kind: type
    names: list[str]


def verb(short: str = "", group: click.Group | None = None, name: str | None = None) -> Callable[..., click.Command]:
    """Makes a command of a function, which may return the exit status; `short` is its line in the help of a group."""

    def wrap(function: Callable[..., int | None]) -> click.Command:
        described, texts = _read(function.__doc__)
        groups: dict[str, _Group] = {}
        options: list[click.Parameter] = []
        by_position = []
        hints = get_type_hints(function, include_extras=True)
        for parameter in inspect.signature(function).parameters.values():
            hint = hints[parameter.name]
            if isinstance(hint, type) and dataclasses.is_dataclass(hint):
                # An option of the verb itself takes the place of one that is spelt alike.
                own = {f"--{_flag(name)}" for name, one in hints.items() if not dataclasses.is_dataclass(one)}
                fields = [one for one in _fields(hint) if not own & set(one.opts)]
                groups[parameter.name] = _Group(hint, [one.name or "" for one in fields])
                options += fields
            elif parameter.kind is parameter.KEYWORD_ONLY:
                options.append(_option(parameter.name, hint, parameter.default, texts))
            else:
                by_position.append(parameter)
                options.append(_argument(parameter, hint, texts))

        def call(**values: Any) -> int:
            for name, one in groups.items():
                values[name] = one.kind(**{field: values.pop(field) for field in one.names})
            given = [values.pop(one.name) for one in by_position]
            if by_position and by_position[-1].kind is inspect.Parameter.VAR_POSITIONAL:
                given += given.pop()
            return function(*given, **values) or 0

        made = click.Command(name or function.__name__, callback=call, params=options, help=described, short_help=short)
        if group is not None:
            group.add_command(made)
        return made

    return wrap


def is_default(name: str) -> bool:
    """Whether the verb's option was left out."""
    source = click.get_current_context().get_parameter_source(name)
    return source is click.core.ParameterSource.DEFAULT


def _read(docstring: str | None) -> tuple[str, Texts]:
    """The text of a docstring; and of each name in its section `Args` or `Attributes` metavar and text."""
    described, *section = _SECTION.split(inspect.cleandoc(docstring or ""), maxsplit=1)
    _, *parts = _ENTRY.split("\n" + section[0]) if section else [""]
    texts = {}
    for name, metavar, text in zip(parts[::3], parts[1::3], parts[2::3], strict=True):
        texts[name] = metavar, re.sub(r" \[default", "  [default", " ".join(text.split()))
    return described, texts


def _fields(kind: Any) -> Iterator[click.Option]:
    hints, (_, texts) = get_type_hints(kind, include_extras=True), _read(kind.__doc__)
    for field in dataclasses.fields(kind):
        default = inspect.Parameter.empty if field.default is dataclasses.MISSING else field.default
        yield _option(field.name, hints[field.name], default, texts)


def _argument(parameter: inspect.Parameter, hint: Any, texts: Texts) -> click.Argument:
    kind, shared = _kind(parameter.name, hint)
    metavar, _ = texts.get(parameter.name, (shared.metavar, ""))
    several = parameter.kind is parameter.VAR_POSITIONAL
    required = parameter.default is inspect.Parameter.empty and not (metavar or "").startswith("[")
    return click.Argument([parameter.name], type=kind, metavar=metavar, nargs=-1 if several else 1, required=required)


def _option(name: str, hint: Any, default: Any, texts: Texts) -> click.Option:
    kind, shared = _kind(name, hint)
    metavar, text = texts.get(name, (None, shared.text))
    flag = _flag(name)
    spelling = shared.spelling or ((f"--{flag}/--no-{flag}",) if default is True else (f"--{flag}",))
    several = isinstance(kind, list)
    more: dict[str, Any] = {"is_flag": True} if kind is bool else {"type": kind[0] if several else kind}
    if default is not inspect.Parameter.empty and default is not None and default != ():
        written = getattr(kind, "written", None)
        more["default"] = written(default) if written else default
        # A help that says "0: one per core" needs no more.
        is_said = "[default: " in text or f"{default}: " in text
        more["show_default"] = default != "" and default is not False and not is_said
    return click.Option(
        [*spelling, name], help=text, metavar=metavar or shared.metavar, multiple=several,
        required=default is inspect.Parameter.empty, **more,
    )  # fmt: skip


def _flag(name: str) -> str:
    return re.sub(r"(_s|_ns|_)$", "", name).replace("_", "-")


def _kind(name: str, hint: Any) -> tuple[Any, Shared]:
    """The type as Click knows it, in a list for an option that may be repeated."""
    kind, shared = hint, Shared()
    while get_origin(kind) in (Annotated, Union, UnionType):
        inner, *notes = (one for one in get_args(kind) if one is not NoneType)
        shared = next((one for one in notes if isinstance(one, Shared)), shared)
        kind = next((one for one in notes if not isinstance(one, Shared)), inner)
    if get_origin(kind) is tuple:
        inner, shared_too = _kind(name, get_args(kind)[0])
        return [inner], shared_too if shared == Shared() else shared
    if get_origin(kind) is Literal:
        return click.Choice(get_args(kind)), shared
    if kind is Path:
        return click.Path(path_type=Path), shared
    if kind in (int, float) and name.endswith(("_s", "_ns")):
        return _time(1 if name.endswith("_s") else 10**9), shared
    return kind, shared


def _time(scale: int) -> Text:
    def read(text: str) -> float:
        return time(text) if scale == 1 else round(time(text) * scale)

    read.__name__ = "time"
    return Text(read, lambda value: time_text(value / scale))
