"""The figure of a run that a user wants better, and the figures of a replay that are kept. Pure: plain numbers."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

from flashtwin import units
from flashtwin.errors import ArgumentError, ConfigError
from flashtwin.results.figures import SHORT, TIME, Figure, figure
from flashtwin.results.ledger import ALL, SERVICE, SLOWEST_PERCENT, SLOWEST_PERMILLE
from flashtwin.results.trees import dig, leaves

#: Kinds of requests, with the words for them.
KINDS = {"all": "requests", "read": "reads", "write": "writes", "flush": "flushes"}
#: The requests of the wait ledger that stand nearest to a percentile.
_SLOWEST = dict.fromkeys(("p95", "p99"), SLOWEST_PERCENT) | dict.fromkeys(("p99_9", "p99_99", "max"), SLOWEST_PERMILLE)
#: The number of volumes among the figures of a replay; 0 of a trace that has one.
VOLUMES = "volumes"
_WORDS = {
    "programs": "the number of pages programmed", "erases": "the number of erases", "ram": "the size of tables in RAM",
    "life": "the life used by the trace", "time": "the time for the whole trace",
}  # fmt: skip
#: Keys of the configuration that figures depend on.
_KEYS = [f"config.{key}" for key in ("nand.pages_per_block", "nand.pe_cycles", "replay.speed", "replay.queue_depth")]


@dataclass(frozen=True)
class Goal:
    figure: Figure

    @property
    def name(self) -> str:
        return self.figure.name

    @property
    def words(self) -> str:
        if not self.statistic:
            return _WORDS.get(self.name, f"the {self.figure.label}")
        names = {"mean": "mean response", "max": "longest response"}
        return f"the {names.get(self.statistic, self.statistic.replace('_', '.'))} of {KINDS[self.kind]}"

    @property
    def kind(self) -> str:
        return self._response[0]

    @property
    def statistic(self) -> str:
        """Of response times the statistic, such as `p99`; empty of all else."""
        return self._response[1]

    @property
    def requests(self) -> str:
        return _SLOWEST.get(self.statistic, ALL)

    @property
    def _response(self) -> tuple[str, str]:
        found = re.fullmatch(r"response\.(\w+)\.(\w+)_ns", self.figure.path)
        return (found[1], found[2]) if found and found[1] in KINDS else ("all", "")

    def value(self, summary: Mapping[str, Any]) -> float | None:
        """The figure in a summary's numbers by dotted path; None where there is none."""
        if self.name == "life":
            # By programs instead of erases: most replays end before collection has begun.
            pages = summary.get("erases.blocks", 0) * summary["config.nand.pages_per_block"]
            used = pages * summary["config.nand.pe_cycles"]
            return 100.0 * summary.get("pages_programmed", 0) / used if used else None
        if self.figure == TIME and not summary.get("requests.completed"):
            return None
        value = summary.get(self.figure.path, None if self.statistic else 0)
        return None if value is None or not summary.get(f"response.{self.kind}.count", 1) else float(value)

    def cost(self, value: float) -> float:
        """Of costs the smallest is the best, and a ratio of two says by how much."""
        return value if not self.figure.more_is_better else 1.0 / value if value else float("inf")

    def written(self, value: float | None) -> str:
        if self.name == "life" and value is not None:
            # A trace uses the smallest part of a percent.
            return f"{units.significant(value)} %"
        return self.figure.written(value)


def goal_of(text: str) -> Goal:
    """Reads `read.p99`, `programs`, `life`, `time`, or any other figure of a run; a ConfigError names the nearest."""
    try:
        return Goal(TIME if text == TIME.name else figure(text))
    except ArgumentError as error:
        raise ConfigError(f"goal '{text}': {error}") from None


def usual_goal(queue_depth: Any) -> Goal:
    """The goal where nobody chose: the mean response; in a closed loop, whose times are its depth's, the whole time."""
    return goal_of("time" if queue_depth else "all.mean")


@dataclass(frozen=True)
class Figures:
    """The figures of a replay: times in ns, and counts, by short names or dotted paths (`figures["erases"]`)."""

    #: Numbers of the summary by dotted path; those that are 0 are left out, but for times.
    summary: Mapping[str, float]
    #: The wait ledger's means by kind, requests and charge, `service` among them.
    ledger: Mapping[str, Mapping[str, Mapping[str, float]]]
    #: Of a long trace its response times in every other block, by which a search ranks.
    half: Mapping[str, float] = field(default_factory=dict)

    def __getitem__(self, name: str) -> float:
        return self.summary.get(SHORT.get(name, name), 0)

    def charges(self, chosen: Goal) -> Mapping[str, float]:
        """The time of the goal's requests by charge, in ns: waits and service."""
        return self.ledger.get(chosen.kind, {}).get(chosen.requests, {})

    def waited_share(self, chosen: Goal) -> float:
        """Which share of the goal's requests' time is waiting, 0 to 1; 0 where nothing is known of it."""
        charges = self.charges(chosen)
        total = sum(charges.values())
        return 1.0 - charges.get(SERVICE, 0.0) / total if total > 0 else 0.0

    @classmethod
    def of(cls, summary: Mapping[str, Any], ledger: Sequence[Mapping[str, Any]], half: Mapping[str, float]) -> Self:
        """The figures of a replay from its summary, the rows of its table `wait_ledger`, and its response times."""
        numbers = {
            path: value for path, value in leaves({key: of for key, of in summary.items() if key != "config"})
            if isinstance(value, int | float) and not isinstance(value, bool)
            and (value or path.startswith("response."))
        }  # fmt: skip
        charged: dict[str, dict[str, dict[str, float]]] = {}
        for row in ledger:
            if row["mean_ns"] is not None:
                charges = charged.setdefault(row["kind"], {}).setdefault(row["requests"], {})
                charge = SERVICE if row["part"] == SERVICE else row["charge"]
                charges[charge] = charges.get(charge, 0.0) + float(row["mean_ns"])
        return cls({**numbers, **{key: dig(summary, key) for key in _KEYS}}, charged, half)
