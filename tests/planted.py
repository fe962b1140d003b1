"""Whether the tests catch the bugs of `tests/planted.toml`: `make planted`.

All bugs are built into one copy of the sources, each behind the environment variable PLANTED, so that one build serves
for all. `python tests/planted.py PART ...` tries only bugs whose file or description contains a PART. Those with
`swarm` must be found by that crate's swarm, in as many seeds as is told.
"""

import json
import os
import re
import subprocess
import sys
import time
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
COPY = ROOT / "target" / "planted"
#: What follows a crate's own tests, until one fails.
AFTER = {
    "bits": ["nand", "ftl"], "nand": ["ftl", "sim"], "ftl": ["sim", "tests/test_behaviour.py"],
    "sim": ["tests/test_behaviour.py"], "trace": ["sim"], "analysis": [], "live": [],
}  # fmt: skip
#: The test of each swarm.
SWARMS = {"live": "a_drive_keeps_its_promises"}
SWARM_SEEDS = 1_000
TIMEOUT_S = 600
SWITCH = """
pub(crate) fn planted(bug: u32) -> bool {
    static PLANTED: std::sync::LazyLock<u32> =
        std::sync::LazyLock::new(|| std::env::var("PLANTED").ok().and_then(|bug| bug.parse().ok()).unwrap_or(0));
    *PLANTED == bug
}
"""


def plant(bugs: list[dict], sources: Path) -> None:
    """Copies the sources, if they are not there, and puts every bug behind its switch."""
    files = subprocess.run(["git", "ls-files", "-z"], cwd=sources, capture_output=True, check=True, text=True).stdout
    for name in filter(None, files.split("\0")):
        if (sources / name).is_file():
            (COPY / name).parent.mkdir(parents=True, exist_ok=True)
            (COPY / name).write_bytes((sources / name).read_bytes())
    for number, bug in enumerate(bugs, 1):
        path = COPY / bug["file"]
        text = path.read_text(encoding="utf-8")
        assert text.count(bug["was"]) == 1, f"{bug['file']}: {bug['was']!r} is there {text.count(bug['was'])} times"
        if path.suffix == ".rs":
            switched = f"(if crate::planted({number}) {{ {bug['bug']} }} else {{ {bug['was']} }})"
        else:
            switched = f"({bug['bug']} if __import__('os').environ.get('PLANTED') == '{number}' else {bug['was']})"
            # A bug that is no expression would be caught as an error of syntax, whatever the tests look at.
            compile(text.replace(bug["was"], switched), bug["file"], "exec")
        path.write_text(text.replace(bug["was"], switched), encoding="utf-8")
    for crate in {bug["file"].split("/")[1] for bug in bugs if bug["file"].startswith("crates/")}:
        with (COPY / "crates" / crate / "src" / "lib.rs").open("a", encoding="utf-8") as lib:
            lib.write(SWITCH)


def build() -> dict[str, list[str]]:
    cargo = ["cargo", "test", "--release", "--config", ".cargo/test.toml", "--no-run", "--workspace"]
    made = subprocess.run([*cargo, "--message-format=json"], cwd=COPY, stdout=subprocess.PIPE, check=True, text=True)
    programs: dict[str, list[str]] = {}
    for line in made.stdout.splitlines():
        message = json.loads(line)
        if message.get("executable") and message.get("profile", {}).get("test"):
            crate = Path(message["manifest_path"]).parent.name
            programs.setdefault(crate, []).append(message["executable"])
    subprocess.run(["cargo", "build", "--release", "-p", "flashtwin-python"], cwd=COPY, check=True)
    core = COPY / "target" / "release" / "libflashtwin_python.so"
    (COPY / "python" / "flashtwin" / "_core.abi3.so").write_bytes(core.read_bytes())
    return programs


def run(command: list[str], folder: Path, number: int, **more: str) -> subprocess.CompletedProcess[str] | None:
    """A test run with a bug; `None` if it takes too long."""
    paths = {"PYTHONPATH": str(COPY / "python"), "PLANTED": str(number)}
    try:
        return subprocess.run(
            command, cwd=folder, env={**os.environ, **paths, **more}, capture_output=True, timeout=TIMEOUT_S,
            check=False, text=True, errors="replace",
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return None


def fails(command: list[str], folder: Path, number: int) -> bool:
    done = run(command, folder, number)
    return done is None or done.returncode != 0


def found_in_seeds(crate: str, number: int, programs: dict[str, list[str]]) -> str | None:
    """In how many seeds the crate's swarm fails, for example `17 of 300 seeds`."""
    for program in programs[crate]:
        done = run([program, SWARMS[crate]], COPY / "crates" / crate, number, FLASHTWIN_SEEDS=str(SWARM_SEEDS))
        # A swarm tells how many seeds fail, and panics.
        if done and (found := re.search(r"\d+ of \d+ seeds", done.stdout + done.stderr)):
            return found.group()
    return None


def caught_by(bug: dict, number: int, programs: dict[str, list[str]]) -> str | None:
    if "swarm" in bug:
        found = found_in_seeds(bug["swarm"], number, programs)
        return found and f"the swarm of {bug['swarm']} in {found}"
    if bug["file"].startswith("crates/"):
        crate = bug["file"].split("/")[1]
        suites = [crate, *AFTER[crate]]
    else:
        suites = bug["tests"]
    for suite in suites:
        if suite in programs:
            if any(fails([program, "--quiet"], COPY / "crates" / suite, number) for program in programs[suite]):
                return suite
        elif (COPY / suite).exists():
            pytest = [sys.executable, "-m", "pytest", "-q", "-x", "-n", "2", suite]
            if fails(pytest, COPY, number):
                return suite
    return None


def main(parts: list[str], sources: Path = ROOT) -> int:
    bugs = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))["bug"]
    plant(bugs, sources)
    programs = build()
    survived = 0
    for number, bug in enumerate(bugs, 1):
        if parts and not any(part in bug["file"] or part in bug["what"] for part in parts):
            continue
        began = time.monotonic()
        suite = caught_by(bug, number, programs)
        survived += suite is None
        fate = "SURVIVED" if suite is None else f"caught by {suite}"
        print(f"{number:2}  {fate:46} {time.monotonic() - began:4.0f} s  {bug['what']}", flush=True)
    print(f"{len(bugs)} bugs, {survived} survived")
    if not parts:
        # The page on reliability states the last whole run.
        long_runs = sources / "docs" / "evidence" / "long"
        long_runs.mkdir(parents=True, exist_ok=True)
        said = {"bugs": len(bugs), "survived": survived, "date": time.strftime("%Y-%m-%d", time.gmtime())}
        (long_runs / "planted.json").write_text(json.dumps(said) + "\n", encoding="utf-8")
    return 1 if survived else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
