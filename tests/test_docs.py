"""Commands of the documentation and examples of options can be typed; its examples run; its pages are fresh."""

import doctest
import importlib
import inspect
import os
import re
import shlex
import shutil
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import click
import matplotlib.pyplot as plt
import pyarrow as pa
import pytest

import flashtwin as ft
from flashtwin.characterization.measuring import options_from_text
from flashtwin.cli import flashtwin
from flashtwin.replays import presets

from .conftest import ROOT, Cli, finished

PAGES = sorted(
    [*(ROOT / f"{name}.md" for name in ("README", "CONTRIBUTING", "ARTIFACT")), *(ROOT / "docs").rglob("*.md")]
)
TRACE = "webvm-small.fiu.zst"
PUBLIC = {
    name: getattr(ft, name)
    for name in ft.__all__
    if inspect.isfunction(getattr(ft, name)) or inspect.isclass(getattr(ft, name))
}
EXAMPLES = [
    ".".join(path.relative_to(ROOT / "python").with_suffix("").parts).removesuffix(".__init__")
    for path in sorted((ROOT / "python" / "flashtwin").rglob("*.py"))
    if ">>> " in path.read_text(encoding="utf-8")
]
#: Functions whose examples need a server that has run, or a log of writes: tests/live runs them.
RUN_LIVE = {"compare_drive", "import_log"}


@pytest.fixture(scope="session")
def short_traces(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every sixtieth second of the trace that comes with flashtwin: as many days, and examples that take no time."""
    folder = tmp_path_factory.mktemp("short")
    with pa.CompressedInputStream(pa.OSFile(str(ROOT / "traces" / TRACE)), "zstd") as text:
        lines = text.read().splitlines(keepends=True)
    with pa.CompressedOutputStream(pa.OSFile(str(folder / TRACE), "wb"), "zstd") as out:
        out.write(b"".join(line for line in lines if int(line.split(maxsplit=1)[0]) // 10**9 % 60 == 0))
    return folder


@pytest.fixture
def at_a_clone(tmp_path: Path, short_traces: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder that looks like the repository to an example, and may be written to."""
    (tmp_path / "traces").symlink_to(short_traces)
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    plt.close("all")


@pytest.fixture
def with_results(at_a_clone: Path, small_trace: Path) -> Path:
    """The same with results of an earlier comparison in `out`."""
    systems = ["conventional", "ca-ssd", "rr-ssd", "oracle"]
    ft.compare(ft.open(small_trace), systems, period_s=0.05).save(at_a_clone / "out")
    return at_a_clone


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)


def typed_commands() -> Iterator[tuple[str, str]]:
    """Every command line of the documentation and of the verbs' own help, with where it stands."""
    for page in PAGES:
        for block in blocks(page, "console"):
            for line in block.splitlines():
                yield page.name, line.split("  #")[0].strip()
    for path, command in verbs():
        for line in (command.help or "").rpartition("\b")[2].splitlines():
            if line.strip().startswith("flashtwin "):
                yield path, line.strip()


def verbs(group: click.Group = flashtwin, path: str = "flashtwin") -> Iterator[tuple[str, click.Command]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        yield f"{path} {name}", command
        if isinstance(command, click.Group):
            yield from verbs(command, f"{path} {name}")


COMMANDS = sorted(set(typed_commands()))


@pytest.mark.parametrize(("where", "line"), COMMANDS, ids=[f"{where}:{line}" for where, line in COMMANDS])
def test_commands_exist(where: str, line: str) -> None:
    words = shlex.split(re.split(r" [|>] ", line)[-1] if "|" in line else line.split(" > ", maxsplit=1)[0])
    if words[0] == "make":
        targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
        assert all(word in targets for word in words[1:] if "=" not in word)
        return
    if words[0] in ("truncate", "echo"):
        return
    assert words[0].removeprefix(".venv/bin/") == "flashtwin", f"{where}: what is {words[0]}?"
    command: click.Command = flashtwin
    rest = words[1:]
    while isinstance(command, click.Group):
        found = command.get_command(click.Context(command), rest.pop(0))
        assert found is not None, f"{where}: {line}"
        command = found
    command.make_context(" ".join(words), rest)


# The sweeps are 15 with a pool each. What they use has its own tests.
@pytest.mark.parametrize(
    "name", ["quickstart", "record", "report", pytest.param("sweeps", marks=pytest.mark.slow), "adding-a-policy"]
)
def test_commands_of_tutorial_and_how_to_run(name: str, at_a_clone: Path) -> None:
    """One after the other, as a reader would; `make` alone is left to those who have a clone."""
    (at_a_clone / ".venv").symlink_to(Path(sys.prefix))
    if name == "record" and shutil.which("qemu-io") is None:
        pytest.skip("qemu-io not installed")
    (at_a_clone / "disk.img").write_bytes(bytes(8 << 20))
    (at_a_clone / "mail.fiu.zst").symlink_to(at_a_clone / "traces" / TRACE)
    ft.characterize(ft.open("mail.fiu.zst"), period_s=120).write("mail-workload")
    lines = [line for block in blocks(ROOT / "docs" / f"{name}.md", "console") for line in block.splitlines() if line]
    typed = [line for line in lines if not line.startswith("make ")]
    assert typed
    for line in typed:
        path = {**os.environ, "PATH": f".venv/bin{os.pathsep}{os.environ['PATH']}"}
        done = finished("bash", "-euo", "pipefail", "-c", line, env=path)
        assert done.status == 0, f"{line}\n{done.out}{done.err}"
        assert done.out or ">" in line or "--out" in line or " report " in line, line


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "python")], ids=lambda page: page.name)
def test_python_of_the_pages_runs(page: Path, with_results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, object] = {}
    for block in blocks(page, "python"):
        exec(compile(block, str(page), "exec"), names)


@pytest.mark.parametrize("module", EXAMPLES)
def test_docstring_examples_run(module: str, at_a_clone: Path) -> None:
    (at_a_clone / "traces").unlink()
    (at_a_clone / "traces").symlink_to(ROOT / "traces")
    failed, _ = doctest.testmod(importlib.import_module(module), raise_on_error=False, optionflags=doctest.ELLIPSIS)
    assert failed == 0


def test_example_of_the_errors_runs() -> None:
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    (example,) = doctest.DocTestFinder().find(ft.FlashtwinError, "FlashtwinError")
    assert runner.run(example).failed == 0


def test_public_functions_and_classes_have_an_example() -> None:
    without = {name for name, value in PUBLIC.items() if ">>>" not in (value.__doc__ or "")}
    errors = {name for name, value in PUBLIC.items() if inspect.isclass(value) and issubclass(value, Exception)}
    assert without == RUN_LIVE | errors - {"FlashtwinError", "IgnoredKeyWarning"}


#: Keys that other keys must go with, so that their example makes a drive.
NEEDED_BY = {
    "ftl.mapping_cache.fingerprints": [("ftl.mapping", "content"), ("ftl.mapping_cache.bytes", "1000000")],
    "nand.program_pages": [("engine.write_completes", "buffered"), ("nand.pages_per_block", "480")],
    "nand.sense_pages": [("engine.write_completes", "buffered"), ("nand.program_pages", "4")],
}


def reference_keys(page: str) -> Iterator[tuple[str, set[str], bool]]:
    """All keys of a part of docs/configuration.md, with default and example, and whether its values are names."""
    section = ""
    for line, after in pairwise([*page.splitlines(), ""]):
        if line.startswith("## "):
            section = f"{line[4:-1]}." if line.endswith("`") else ""
        elif key := re.match(r"\* `(\w+)`(?: = `(.*?)`)?(?: \([^)]*\))?: (.*)", line):
            found = re.search(r"[Ff]or example (?:`([^`]+)`|(\d[\d.]*?)(?=[.,;:]?( |$)))", key[3])
            example = {(found[1] or found[2]).strip('"')} if found else set()
            yield section + key[1], example | ({key[2]} if key[2] else set()), after.startswith("    * ")


def test_values_of_keys_can_be_set_as_the_reference_shows_them() -> None:
    page = (ROOT / "docs" / "configuration.md").read_text(encoding="utf-8")
    systems, rest = re.split("## When a key matters.*?## Options", page, flags=re.DOTALL)
    of_systems, of_options = list(reference_keys(systems)), list(reference_keys(rest))
    assert len(of_systems) > 110
    assert len(of_options) > 14
    for name, values, _ in of_systems:
        for value in values:
            presets.resolve_text("conventional", [*NEEDED_BY.get(name, ()), (name, value)])
    for name, values, _ in of_options:
        for value in values:
            options_from_text([(name, value)])
    # The label of a system, its description and the source of a device are free text.
    without = [name for name, values, has_names in [*of_systems, *of_options] if not values and not has_names]
    assert without == ["name", "description", "nand.source"]


def test_generated_pages_are_fresh() -> None:
    done = finished(sys.executable, ROOT / "docs" / "generate.py", "--check")
    assert done.status == 0, done.out + done.err


def test_links_between_pages_lead_somewhere() -> None:
    """On a code host, where the site's own check does not run."""
    broken = [
        f"{page.name}: {target}"
        for page in PAGES
        for target in re.findall(r"\]\(([^)#]+?)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
        if "://" not in target and not (page.parent / target).exists()
    ]
    assert not broken


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("notebook", sorted((ROOT / "examples").glob("*.ipynb")), ids=lambda path: path.name)
def test_notebooks_run(notebook: Path, at_a_clone: Path) -> None:
    import nbformat
    from nbclient import NotebookClient

    content = nbformat.read(notebook, as_version=4)
    assert all(not cell.get("outputs") for cell in content.cells), "commit notebooks without output"
    (at_a_clone / "examples").mkdir()
    NotebookClient(content, timeout=300, kernel_name="python3", resources={"metadata": {"path": "."}}).execute()
    # A call of `chart` that ends a cell is shown as a picture.
    charts = [cell for cell in content.cells if re.search(r"\.chart\([^)]*\)\s*$", cell.source)]
    assert charts
    for cell in charts:
        shown = {kind for output in cell.outputs for kind in output.get("data", {})}
        assert {"image/png", "image/svg+xml"} <= shown, f"{cell.source} shows {shown}"


def test_the_change_of_the_quick_start_changes_what_it_says(cli: Cli) -> None:
    page = (ROOT / "docs/quickstart.md").read_text(encoding="utf-8")
    commands = re.findall(r"^\.venv/bin/flashtwin (compare traces/.*--systems ca-ssd,rr-ssd.*)$", page, re.MULTILINE)
    said = re.search(r"the mean response of `rr-ssd` falls from ([\d.]+) us to ([\d.]+) us", page)
    means = []
    for command in commands:
        verb, trace, *options = shlex.split(command)
        shown = cli(verb, ROOT / trace, *options, status=0).out
        means.append(next(line.split()[-1] for line in shown.splitlines() if line.startswith("mean response, us")))
    assert said is not None
    assert means == [said[1], said[2]]
    assert means[0] != means[1]
