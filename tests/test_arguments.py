"""Arguments of the public functions: what does not fit is refused at once, by name."""

import inspect
import pickle
import warnings
from collections import OrderedDict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow
import pytest

import flashtwin as ft
from flashtwin import arguments

from .conftest import Cli


@pytest.fixture(scope="module")
def trace(brief_trace: Path) -> Path:
    return brief_trace


WRONG: list[tuple[Callable[[Any], Any], str]] = [
    (lambda t: ft.characterize([t]), r"trace is \[.*, of type list: expected what `ft\.open` or"),
    (
        lambda t: ft.imitate(ft.scan(t)),
        r"trace is <flashtwin\.Scan .*expected what `ft\.open` or `Scan\.open` returned",
    ),
    (
        lambda t: ft.open(pyarrow.table({"a": [t.name]})),
        r"path is .*a path; `ft\.Trace\.from_frame` makes a trace of a",
    ),
    (
        lambda t: ft.replay(t, ["rr-ssd"]),
        r"system is \['rr-ssd'\], of type list: expected a text, a path, or what `ft\.sys",
    ),
    (lambda t: ft.compare(t, ["rr-ssd", 5]), r"systems is \['rr-ssd', 5\], of type list"),
    (lambda t: ft.compare(t, {"five": 5}), "a system is the name of a preset .* not of type int"),
    (
        lambda t: ft.replay(t, "rr-ssd", settings=["speed"]),
        r"settings is \['speed'\], of type list: expected a mapping",
    ),
    (lambda t: ft.replay(t, "rr-ssd", settings={5: 1}), "the keys of settings are texts"),
    (lambda t: ft.replay(t, "rr-ssd", fill=True), "fill is True, of type bool: expected a number, or None"),
    (lambda t: ft.open(t).excerpt(to_s="10"), "to_s is '10', of type str: expected a number, or None"),
    (
        lambda t: ft.open(t, on_bad_line="ignore"),
        "on_bad_line is 'ignore', of type str: expected one of 'fail', 'skip'",
    ),
    (
        lambda t: ft.sweep(t, "out", "rr-ssd", search_seed=[1]),
        r"search_seed is \[1\], of type list: expected a whole number",
    ),
    (
        lambda t: ft.open(t, from_sec=1),
        "open: got an unexpected keyword argument 'from_sec'; did you mean the argument",
    ),
    (lambda t: ft.replay(t, "rr-ssd", settings={"speed": 2}, speed=3), "'speed' stands in `settings` and is a keyword"),
    (lambda t: ft.replay(t, "rr-ssd", speed=object()), "speed: .* is of type object; a value is a number"),
    (lambda _: ft.Trace.from_frame(5), "a frame is expected"),
    (lambda t: ft.Trace.from_csv(t, time_unit="h"), "time_unit is 'h', of type str: expected one of 's'"),
]


@pytest.mark.parametrize(("call", "message"), WRONG, ids=[message for _, message in WRONG])
def test_an_argument_of_the_wrong_kind_is_named(call: Callable[[Any], Any], message: str, trace: Path) -> None:
    with pytest.raises(ft.ArgumentError, match=message):
        call(trace)


def public_functions() -> Iterator[tuple[str, Callable[..., Any]]]:
    """Functions that are public by name, and public methods of the classes that `checked` marks."""
    for name in ft.__all__:
        public = getattr(ft, name)
        if inspect.isfunction(public):
            yield name, public
        members = [getattr(one, "__func__", one) for one in vars(public).values()] if inspect.isclass(public) else []
        methods = [one for one in members if inspect.isfunction(one) and not one.__name__.startswith("_")]
        if any(hasattr(one, "__wrapped__") for one in methods):
            yield from ((f"{name}.{one.__name__}", one) for one in methods)


FUNCTIONS = dict(public_functions())
FITTING = (
    None,
    True,
    1,
    "1",
    "fail",
    "s",
    "parquet",
    "default",
    "mean",
    "address",
    "D",
    "blocks",
    Path(),
    print,
    {},
    (),
)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_each_argument_of_another_type_is_refused_by_its_name(name: str) -> None:
    function = FUNCTIONS[name]
    signature, kinds = arguments._annotated(inspect.unwrap(function))
    fitting = {one: next(value for value in FITTING if arguments._fits(value, kind)) for one, kind in kinds.items()}
    kind_of = {one: parameter.kind for one, parameter in signature.parameters.items()}
    fitting |= {one: {} for one, kind in kind_of.items() if kind is inspect.Parameter.VAR_KEYWORD}
    for wrong, kind in kinds.items():
        if kind is not Any:
            value = (object(),) if kind_of[wrong] is inspect.Parameter.VAR_POSITIONAL else object()
            given = inspect.BoundArguments(signature, OrderedDict({**fitting, wrong: value}))
            with pytest.raises(ft.ArgumentError, match=rf"^{wrong} is \(?<object .*, of type .*: expected "):
                function(*given.args, **given.kwargs)


def test_a_checked_function_keeps_its_signature_its_words_and_its_place() -> None:
    assert list(inspect.signature(ft.replay).parameters)[:3] == ["trace", "system", "settings"]
    assert (ft.replay.__doc__ or "").startswith("Replays a trace on one system.")
    assert {"replay", "serve", "Trace.excerpt", "Scan.open", "Result.chart", "Comparison.of", "Sweep.best"} <= set(
        FUNCTIONS
    )
    assert pickle.loads(pickle.dumps(ft.replay)) is ft.replay


def test_a_keyword_that_is_nearly_an_argument_names_it(trace: Path) -> None:
    with pytest.raises(ft.ConfigError, match=r"no key 'per_reqest'; .*; did you mean the argument 'per_request'\?"):
        ft.replay(trace, "rr-ssd", per_reqest=True)
    with pytest.raises(ft.ConfigError, match=r"did you mean 'ftl\.replication\.alpha'\? \(.*key\)$"):
        ft.replay(trace, "rr-ssd", alhpa=1)


def test_a_wrong_goal_is_refused_before_anything_is_read(tmp_path: Path, cli: Cli) -> None:
    missing, out = tmp_path / "missing.csv", tmp_path / "out"
    nearest = "no figure of a run is called 'raed.p99'; did you mean 'read.p99'"
    with pytest.raises(ft.ConfigError, match=nearest):
        ft.study(missing, out, goal="raed.p99")
    with pytest.raises(ft.ConfigError, match=nearest):
        ft.explain(missing, "ca-ssd", goal="raed.p99")
    for verb in ("study", "explain"):
        assert nearest in cli(verb, missing, "--goal", "raed.p99", status=2).err
    assert list(tmp_path.iterdir()) == []


IGNORED = 'ftl.replication.alpha is not looked at by {}, because ftl.replication.policy is "none"'


def test_a_key_that_the_system_ignores_is_a_warning_at_the_callers_line(trace: Path) -> None:
    calls: list[tuple[Callable[[], object], str]] = [
        (lambda: ft.system("ca-ssd", alpha=0.1), "ca-ssd"),
        (lambda: ft.replay(trace, "ca-ssd", alpha=0.1), "ca-ssd"),
        (lambda: ft.compare(trace, ["ca-ssd", "rr-ssd"], settings={"replication.alpha": 0.1}), "ca-ssd"),
        (lambda: ft.compare(trace, {"a": "ca-ssd", "b": "caftl"}, alpha=0.1), "a, b"),
        (lambda: ft.explain(trace, "ca-ssd", alpha=0.1, effort=0), "ca-ssd"),
    ]
    for call, names in calls:
        with pytest.warns(ft.IgnoredKeyWarning) as caught:
            call()
        assert [str(one.message) for one in caught] == [IGNORED.format(names)]
        assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ft.compare(trace, ["rr-ssd", ft.system("conventional")], settings={"replication.alpha": 0.1})


def test_every_verb_notes_keys_that_are_ignored(cli: Cli, trace: Path) -> None:
    note = f"note: {IGNORED.format('ca-ssd')}\n"
    sets, on = ("--set", "alpha=0.1"), ("--system", "ca-ssd", "--set", "alpha=0.1")
    for words in (
        ("systems", "ca-ssd", *sets), ("replay", trace, *on), ("explain", trace, *on, "--effort", "0"),
        ("compare", trace, "--systems", "ca-ssd,rr-ssd", *sets),
        ("sweep", trace, "--systems", "ca-ssd,rr-ssd", *sets, "--speed", "1,2", "--workers", "1"),
    ):  # fmt: skip
        assert cli(*words, status=0).err.count(note) == 1, words
    # A study has systems that differ, so that one which looks at the key is enough.
    studied = ("study", trace, "--effort", "0", "--systems")
    for quiet in (("replay", trace, "--system", "rr-ssd"), (*studied, "ca-ssd,rr-ssd")):
        assert "note:" not in cli(*quiet, *sets, status=0).err
    assert "not looked at by ca-ssd, conventional" in cli(*studied, "ca-ssd,conventional", *sets, status=0).err
