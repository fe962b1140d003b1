"""What a candidate costs, in relative prices, and how long it lives.

A drive that programs twice as much needs twice the endurance for the same years, so that flash is priced by programs.
Tables grow with the drive, so that their RAM is priced for all of it.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple

from flashtwin.errors import ConfigError
from flashtwin.judgement.catalogue import EARLY

GIB = 2**30
_DAY_S, _YEAR_S = 86_400.0, 365.25 * 86_400.0
#: Years of the usual warranty, over which drive writes a day (DWPD) are stated.
WARRANTY_YEARS = 5.0

#: Of a run by dotted path, its configuration among them.
Numbers = Mapping[str, Any]


@dataclass(frozen=True)
class Prices:
    """Relative prices of a GiB of flash, of RAM, of RAM that outlasts a power cut, of a hash lane, and of a die."""

    flash_gib: float
    ram_gib: float
    protected_ram_gib: float
    lane: float
    die: float

    @classmethod
    def read(cls, path: str | Path | None = None) -> Prices:
        """The prices of a TOML file over those that come with flashtwin, which are assumed."""
        usual = tomllib.loads(resources.files(__package__).joinpath("prices.toml").read_text(encoding="utf-8"))
        if path is None:
            return cls(**usual)
        try:
            own = tomllib.loads(Path(path).read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise ConfigError(f"{path}: no prices can be read from it: {error}") from None
        known = [one.name for one in fields(cls)]
        for key, value in own.items():
            if key not in known or isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
                raise ConfigError(f"{path}: '{key} = {value}' is no price; a price is {', '.join(known)}, a number")
        return cls(**{**usual, **own})

    def of(self, run: Numbers, capacity_bytes: float, most_programs: float) -> float:
        """The price of a candidate, whose flash is priced by its share of the most programs of any candidate."""
        page_bytes = run["config.nand.page_bytes"]
        worn = run.get("pages_programmed", 0) / most_programs if most_programs else 1.0
        cached = run["config.engine.write_cache_pages"] * page_bytes
        in_ram = run["config.engine.write_completes"] in EARLY
        places = run["config.engine.write_buffer_pages"] * page_bytes if in_ram else 0
        whole = capacity_bytes / page_bytes / max(run.get("trace.footprint_pages", 0), 1)
        is_protected = run["config.engine.write_cache_protected"]
        protected = places + (cached if is_protected else 0)
        ram = run.get("ram.total_bytes", 0) * max(whole, 1.0) + (0 if is_protected else cached)
        ram += run.get("config.engine.read_cache_pages", 0) * page_bytes
        lanes = max(run["config.engine.hash_lanes"], 1) if run.get("page_ops.pages_hashed") else 0
        dies = math.prod(run[f"config.nand.{level}"] for level in ("channels", "chips_per_channel", "dies_per_chip"))
        memory = self.flash_gib * worn * capacity_bytes + self.ram_gib * ram + self.protected_ram_gib * protected
        return float(memory / GIB + self.lane * lanes + self.die * dies)


def rounded(price: float) -> float:
    """A price to three digits: of two that differ by less, the simpler candidate is the better one."""
    return float(f"{price:.3g}")


class Life(NamedTuple):
    """How long a drive lasts at the recorded clock, what the host may write until then, DWPD over the warranty."""

    years: float
    written_bytes: float
    drive_writes_a_day: float


def life(run: Numbers, capacity_bytes: float, amplification: float | None) -> Life | None:
    """The life of a run's drive; None without programs.

    `amplification` is that of a steady state, for a run that ended before collection began.
    """
    programs = run.get("pages_programmed", 0)
    # Programs count from the end of the warm-up.
    lasted_s = run.get("duration_ns", 0) / 1e9 - run.get("config.replay.warm_up_s", 0)
    if not programs or not lasted_s:
        return None
    if amplification and not run.get("flash_writes.gc"):
        programs *= max(amplification, 1.0)
    page_bytes = run["config.nand.page_bytes"]
    endured = run["config.nand.pe_cycles"] * capacity_bytes / page_bytes
    years = endured / (programs / lasted_s) / _YEAR_S
    written = years * _YEAR_S * run.get("host_pages_written", 0) * page_bytes / lasted_s
    return Life(years, written, written / capacity_bytes / (WARRANTY_YEARS * _YEAR_S / _DAY_S))
