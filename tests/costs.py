"""CPU seconds of each test, its processes included, against `tests/costs.json`, so that the suite stays quick.

`pytest --costs` fails for a test that costs 1.5 times its share and a second more. The slow suite runs so, on a machine
that has nothing else to do. `pytest --update-costs` writes the file again. No test asserts a time of its own.
"""

import json
import resource
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

FILE = Path(__file__).with_suffix(".json")
#: Tests below this are not listed.
LEAST_S = 1.0
FACTOR = 1.5


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--costs", action="store_true", help="compare CPU seconds with tests/costs.json")
    parser.addoption("--update-costs", action="store_true", help="write tests/costs.json again")


def _cpu_s() -> float:
    usage = (resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN))
    return sum(of.ru_utime + of.ru_stime for of in usage)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Takes the time of a test with its fixtures: of those that tests share, the first test of a process pays."""
    item.stash[_BEFORE] = _cpu_s()
    return (yield)


_BEFORE = pytest.StashKey[float]()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    report: Any = yield
    if call.when == "teardown":
        report.user_properties = [*report.user_properties, ("cpu_s", _cpu_s() - item.stash[_BEFORE])]
    return report


class _Costs:
    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.seconds: dict[str, float] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "teardown":
            self.seconds[report.nodeid] = dict(report.user_properties).get("cpu_s", 0.0)

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        listed = {name: round(cpu_s, 1) for name, cpu_s in sorted(self.seconds.items()) if cpu_s >= LEAST_S}
        if self.config.getoption("--update-costs"):
            FILE.write_text(json.dumps(listed, indent=0) + "\n", encoding="utf-8")
        elif self.config.getoption("--costs"):
            known = json.loads(FILE.read_text(encoding="utf-8"))
            self.dearer = {
                name: cpu_s for name, cpu_s in listed.items() if cpu_s > FACTOR * known.get(name, LEAST_S) + LEAST_S
            }
            if self.dearer:
                session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        for name, cpu_s in getattr(self, "dearer", {}).items():
            terminalreporter.write_line(f"DEARER {name}: {cpu_s} s of CPU, see tests/costs.json")


def pytest_configure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(_Costs(config))
