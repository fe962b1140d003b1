"""Policies in Python that answer with arrays: defaults written again, wrong answers; models of new ones."""

import importlib.util
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from docs import new_policy

import flashtwin as ft
from flashtwin.errors import ArgumentError, ConfigError
from flashtwin.policies.registry import FAMILIES

from . import tiny
from .test_policies import replayed, wrong

#: Pages of 4 KB from this one on are in the second range.
BEGIN = 700
RANGES = {"ftl.partition.partitions": 2, "ftl.partition.ranges": f"{BEGIN * 4096}"}
FEW = {"ftl.dedup.fingerprint_entries": 300}


def below(seed: int) -> int:
    """How many logical pages of the trace lie in the first range; tables have those that the trace touches."""
    requests = tiny.trace(seed=seed).to_arrow().to_pydict()
    spans = zip(requests["offset_bytes"], requests["length_bytes"], strict=True)
    pages = {page for begin, length in spans for page in range(begin // 4096, (begin + length) // 4096)}
    return sum(page < BEGIN for page in pages)


def by_range(seed: int) -> Any:
    first = below(seed)

    @ft.policy("partition")
    def ranges(partitions: int, pages: ft.PolicyTable) -> Any:
        return (np.arange(len(pages.writes)) >= first).astype(int)

    return ranges


@ft.policy("eviction")
def lru_writes(victims: int, entries: ft.PolicyTable) -> Any:
    return np.argsort(entries.written)[:victims]


@pytest.mark.parametrize("seed", [7, 8])
@pytest.mark.parametrize(
    ("system", "key", "name", "of", "sets"),
    [
        ("conventional", "ftl.partition.policy", "ranges", by_range, RANGES),
        ("rr-ssd", "ftl.partition.policy", "ranges", by_range, RANGES),
        ("ca-ssd", "ftl.dedup.eviction", "lru-writes", lambda _: lru_writes, FEW),
        ("ca-ssd-inverted", "ftl.dedup.eviction", "lru-writes", lambda _: lru_writes, FEW),
    ],
)
def test_default_in_python_gives_equal_results(
    system: str, key: str, name: str, of: Any, sets: dict[str, Any], seed: int
) -> None:
    own, builtin = (replayed(system, {**sets, key: one}, seed) for one in (of(seed), name))
    for result in (own, builtin):
        # What a policy keeps, and where, is its own: the host says a range with each write.
        del result["simulator"], result["ram"]
    assert own == builtin
    assert own["erases"]["total"] > 100


@pytest.mark.parametrize(
    ("family", "answer", "message"),
    [
        ("partition", 0, "at the call (partitions=2, PolicyTable(writes=["),
        ("partition", 0, "it answered 0: expected an array of whole numbers"),
        ("partition", [0.5], "it answered float64[1]: expected an array of whole numbers"),
        ("partition", [0], "it answered 1 numbers that begin [0]: expected a partition for each page of the table"),
        ("partition", lambda _, pages: pages.writes * 0 + 2, "expected a partition for each page of the table, from 0"),
        ("partition", lambda _, pages: pages.writes * 0 - 1, "expected a partition for each page of the table, from 0"),
        ("eviction", [], "expected the places of 1 to `victims` different entries of the table"),
        ("eviction", [3, 3], "it answered 2 numbers that begin [3, 3]: expected the places"),
        ("eviction", [300], "it answered 1 numbers that begin [300]: expected the places"),
        ("eviction", lambda victims, _: np.arange(victims + 1), "it answered 257 numbers that begin [0, 1,"),
        ("eviction", ZeroDivisionError("of mine"), "raised ZeroDivisionError: of mine"),
    ],
)
def test_wrong_answer_is_named_with_its_call(family: str, answer: Any, message: str) -> None:
    mistaken = ft.policy(family)(wrong("victim", answer))
    with pytest.raises(ConfigError) as caught:
        replayed("rr-ssd", {**FEW, f"ftl.{FAMILIES[family].key}": mistaken})
    assert f"the {family} policy 'mistaken' at the call (" in str(caught.value)
    assert message in str(caught.value)


def test_compiled_function_cannot_give_arrays() -> None:
    with pytest.raises(ArgumentError, match="which a policy that gives arrays has to be"):
        ft.policy("eviction")(3)


def test_aged_drives_keep_what_was_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from flashtwin.replays import aged

    monkeypatch.setenv(aged.VARIABLE, str(tmp_path))
    monkeypatch.setattr(aged, "LEAST_S", 0.0)
    sets = {**RANGES, **FEW, "ftl.partition.policy": by_range(7), "ftl.dedup.eviction": lru_writes}
    fresh = replayed("rr-ssd", sets)
    assert len(aged.drives()) == 1
    assert replayed("rr-ssd", sets) == fresh


def test_numba_function_of_the_manual_is_called_by_its_address(tmp_path: Path) -> None:
    pytest.importorskip("numba", reason="numba is not installed")
    manual = (Path(__file__).parent.parent / "docs" / "adding-a-policy.md").read_text(encoding="utf-8")
    (text,) = re.findall(r"^```py\n(.*?cfunc.*?)^```", manual, re.DOTALL | re.MULTILINE)
    (tmp_path / "manual.py").write_text(text)
    space = {"ft": ft, "__name__": "manual"}
    exec(compile(text, str(tmp_path / "manual.py"), "exec"), space)
    compiled: Any = space["compiled"]
    assert replayed("conventional", {"ftl.gc.victim": compiled}) == replayed(
        "conventional", {"ftl.gc.victim": "greedy"}
    )
    assert "@uncovered" not in compiled.__flashtwin_policy__.reference, "its source is covered"


def test_model_of_each_new_policy_keeps_its_contract(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert new_policy.IN_PYTHON.keys() == FAMILIES.keys()
    for family in FAMILIES:
        (file,) = new_policy.add_in_python(family, "one-more", tmp_path / f"{family}.py")
        spec = importlib.util.spec_from_file_location("one_more", file)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        assert ft.check_policy(module.one_more, drives=2).calls > 0, family
    with pytest.raises(new_policy.PolicyError, match="there is such a file already"):
        new_policy.add_in_python("victim", "one-more", tmp_path / "victim.py")


def test_command_writes_a_policy_in_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        sys, "argv", ["new_policy", "victim", "oldest", "--model", "", "--file", str(tmp_path / "a.py")]
    )
    assert new_policy.main() == 0
    assert new_policy.main() == 2
    assert "def oldest(plane, blocks):" in (tmp_path / "a.py").read_text()
