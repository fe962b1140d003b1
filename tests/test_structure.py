"""The checks of structure (`.ci/structure.py`, part of `make lint`) catch their faults."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from .conftest import ROOT


@pytest.fixture(scope="module")
def structure() -> ModuleType:
    spec = importlib.util.spec_from_file_location("structure", ROOT / ".ci" / "structure.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def tree(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    return root


@pytest.mark.parametrize(
    ("module", "text", "fault"),
    [
        ("traces/odd.py", "from flashtwin.cli import run\n", "imports the command line"),
        ("sweeps/odd.py", "def f():\n    from flashtwin import _core\n", "reaches the core"),
        ("report/odd.py", "from ..sweeps import jobs\n", "is about result files, and imports sweeps.jobs"),
        (
            "judgement/odd.py",
            "from flashtwin.results import folder\n",
            "is about result files, and imports results.folder",
        ),
        ("units.py", "from flashtwin.sweeps import jobs\n", "is called pure, and imports sweeps.jobs"),
        ("sweeps/__init__.py", "from . import jobs\n", "the door of a room imports something"),
        ("sweeps/odd.py", "class Job:\n    pass\n", "flashtwin.sweeps.jobs has a class Job already"),
        ("sweeps/odd.py", "raise ValueError(1)\n", "raises ValueError"),
        ("sweeps/odd.py", "x: Callable[[str], None]\n", "declares a callback"),
        ("sweeps/odd.py", 'x = "rows.json"\n', "names the file rows.json"),
        ("sweeps/odd.py", "import pyarrow.parquet\n", "reads or writes Parquet"),
    ],
)
def test_faults_of_python_are_found(module: str, text: str, fault: str, structure: ModuleType, tmp_path: Path) -> None:
    root = tree(tmp_path, {
        f"python/flashtwin/{name}": "" for name in ("__init__.py", "units.py", "results/folder.py", "cli/__init__.py")
    } | {"python/flashtwin/sweeps/jobs.py": "class Job:\n    pass\n"})  # fmt: skip
    assert list(structure.package(root)) == []
    tree(root, {f"python/flashtwin/{module}": text})
    (found,) = structure.package(root)
    assert fault in found


def test_circle_of_rooms_is_found(structure: ModuleType, tmp_path: Path) -> None:
    root = tree(tmp_path, {
        "python/flashtwin/causes/a.py": "def f():\n    from flashtwin.replays import b\n",
        "python/flashtwin/replays/b.py": "from flashtwin.results.c import d\n",
        "python/flashtwin/results/c.py": "",
    })  # fmt: skip
    assert list(structure.package(root)) == []
    tree(root, {"python/flashtwin/results/c.py": "def f():\n    from ..causes import a\n"})
    assert list(structure.package(root)) == [
        "flashtwin: rooms import one another in a circle: causes, replays, results"
    ]


def test_circles_of_files_are_found(structure: ModuleType, tmp_path: Path) -> None:
    tree(tmp_path / "crates" / "ftl" / "src", {
        "lib.rs": "mod a;\nmod b;\nmod c;\n",
        "a.rs": "use crate::b::{self, B};\n",
        "b/mod.rs": "mod part;\nuse std::fmt;\nuse self::part::Part;\nuse crate::c::C;\n",
        "b/part.rs": "use super::B;\npub(super) use super::super::{\n    a::{A, Other as Another},\n    c::C,\n};\n",
        "c.rs": "#[cfg(test)]\nuse crate::a::A;\nuse crate::Thing;\n",
    })  # fmt: skip
    assert list(structure.circles_of_rust(tmp_path)) == [
        "crates/ftl: c imports crate::Thing from the crate's door, a file above",
        "crates/ftl: files import one another in a circle: a, b, b::part",
    ]


def test_circles_of_calls_and_machines_are_found(structure: ModuleType, tmp_path: Path) -> None:
    generic = "impl<T: Copy> Engine<T> {\n    fn one(&self) {\n        self.two::<T>(1);\n    }\n}\n"
    tree(tmp_path / "crates" / "sim" / "src", {
        "lib.rs": "",
        "a.rs": f"struct Engine<T>(T);\n{generic}",
        "b.rs": "impl<T> Engine<T> {\n    fn two<U>(&self) {\n        self.with(|host, at| host.three(at));\n    }\n}\n",  # noqa: E501
        "c.rs": "impl Engine<u8> {\n    fn three(&self) {\n        self.one(); // self.two()\n    }\n}\n"
        "impl Small {\n    fn one(&self) {\n        self.two();\n    }\n}\n",
        "engine/array/mod.rs": "use crate::engine::host::Host;\n",
        "engine/host/mod.rs": "use crate::engine::accounts::Ledger;\n",
        "engine/accounts/mod.rs": "",
    })  # fmt: skip
    assert list(structure.circles_of_rust(tmp_path)) == [
        "crates/sim: methods of Engine call one another in a circle: a, b, c",
        "crates/sim: engine::array uses engine::host, which is above it",
    ]


def test_long_files_and_crates_that_look_up_are_found(
    structure: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree(tmp_path, {"docs/long.py": "x\n" * 601, "docs/short.py": "x\n" * 600})
    (fault,) = structure.lengths(tmp_path)
    assert fault.startswith("docs/long.py: 601 lines")
    monkeypatch.setitem(structure.CRATES, "ftl", "bits")
    assert list(structure.crates(ROOT)) == ["crates/ftl: must not depend on nand"]
    monkeypatch.setattr(structure, "FORBIDDEN_IN_FTL", ("pub struct Ftl",))
    assert any(fault.startswith("crates/ftl/src/ftl.rs: uses") for fault in structure.crates(ROOT))
