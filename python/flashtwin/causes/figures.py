"""The figures of one replay that are kept: a replay done once answers for every goal. Pure: plain numbers, as JSON."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from flashtwin.errors import ArgumentError, ConfigError
from flashtwin.judgement import facts
from flashtwin.judgement.goals import Goal, goal_of
from flashtwin.judgement.ledger import SERVICE
from flashtwin.results.figures import SHORT
from flashtwin.results.trees import dig, leaves

#: Keys of the configuration that figures depend on.
_KEYS = (
    "config.nand.pages_per_block", "config.nand.pe_cycles", "config.replay.speed", "config.replay.queue_depth",
)  # fmt: skip


def goal(text: str) -> Goal:
    """Reads `read.p99`, `all.mean`, `programs`, `life`, `time`, or any other figure of a run.

    Raises:
        ConfigError: there is no such figure; the message names the nearest.
    """
    try:
        return goal_of(text)
    except ArgumentError as error:
        raise ConfigError(f"goal '{text}': {error}") from None


def usual_goal(config: Mapping[str, Any]) -> Goal:
    """The goal where nobody chose: the mean response; in a closed loop, whose times are its depth's, the whole time."""
    return goal_of("time" if config["replay"]["queue_depth"] else "all.mean")


@dataclass(frozen=True)
class Figures:
    """The figures of a replay: times in ns, and counts, by short names or dotted paths (`figures["erases"]`)."""

    #: Numbers of the summary by dotted path; those that are 0 are left out, but for times.
    summary: Mapping[str, float]
    #: The wait ledger's means by kind, requests and charge, `service` among them.
    ledger: Mapping[str, Mapping[str, Mapping[str, float]]]

    def __getitem__(self, name: str) -> float:
        return self.summary.get(SHORT.get(name, name), 0)

    def value(self, chosen: Goal) -> float | None:
        """The goal's figure; None where there is none, such as the response of reads without a read."""
        return chosen.value(self.summary)

    def charges(self, chosen: Goal) -> Mapping[str, float]:
        """The time of the goal's requests by charge, in ns: waits and service."""
        return self.ledger.get(chosen.kind, {}).get(chosen.requests, {})

    def waited_share(self, chosen: Goal) -> float:
        """Which share of the goal's requests' time is waiting, 0 to 1; 0 where nothing is known of it."""
        charges = self.charges(chosen)
        total = sum(charges.values())
        return 1.0 - charges.get(SERVICE, 0.0) / total if total > 0 else 0.0

    @property
    def lateness(self) -> float | None:
        """How many times as long as its trace the replay took; None where the drive kept up."""
        return facts.late_by(self.summary)

    @property
    def happened(self) -> dict[str, float]:
        """The figures by which two replays are equal, whatever their tables take."""
        return facts.happened(self.summary)

    def as_json(self) -> dict[str, Any]:
        """As it is written; not copied as by `asdict`, for that takes long."""
        return dict(vars(self))


def figures_of(summary: Mapping[str, Any], ledger: Sequence[Mapping[str, Any]]) -> Figures:
    """The figures of a replay from its summary and the rows of its table `wait_ledger`."""
    numbers = {
        path: value for path, value in leaves({key: of for key, of in summary.items() if key != "config"})
        if isinstance(value, int | float) and not isinstance(value, bool) and (value or path.startswith("response."))
    }  # fmt: skip
    charged: dict[str, dict[str, dict[str, float]]] = {}
    for row in ledger:
        if row["mean_ns"] is not None:
            charges = charged.setdefault(row["kind"], {}).setdefault(row["requests"], {})
            charge = SERVICE if row["part"] == SERVICE else row["charge"]
            charges[charge] = charges.get(charge, 0.0) + float(row["mean_ns"])
    return Figures({**numbers, **{key: dig(summary, key) for key in _KEYS}}, charged)
