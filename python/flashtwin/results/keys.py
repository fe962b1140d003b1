"""What each key of the configuration says of itself, and what a system is by its policies.

The core declares both beside the keys and the policies (`x-when`, `x-moves`, `x-design`, `x-traits` in
[`flashtwin.config_schema`][]); a configuration is a mapping as results store it.

    KEYS["engine.hash_us"].when              # 'deduplicates'
    matters("engine.hash_us", config)        # whether another value can change what happens
    traits(config)                           # {'deduplicates', 'looks-at-contents', ...}
"""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from flashtwin import _core

Config = Mapping[str, Any]


@dataclass(frozen=True)
class Key:
    """A key and what it says of itself."""

    name: str
    #: The condition under which it matters; "always" where there is none.
    when: str
    #: What it moves by itself, and how; empty for nothing.
    moves: str
    #: Why it defines a system by its paper; empty for ground.
    design: str
    #: Whether no result depends on it.
    label: bool


#: Every key by its dotted name, in the order of the configuration.
KEYS: Mapping[str, Key] = {
    one["name"]: Key(one["name"], one["when"], one["moves"] or "", one["design"] or "", one["label"])
    for one in json.loads(_core.config_keys())
}


def matters(key: str, config: Config) -> bool:
    """Whether another value of a key can change what happens under a configuration; where not, nothing does.

    A key that the core does not know, of another version's results, is taken to matter.
    """
    return key not in KEYS or key in _meaning(_text(config))[0]


def traits(config: Config) -> frozenset[str]:
    """What a system is: `deduplicates`, `spreads`, `replicates`, `redirects`, `weighs-load`, ..."""
    return _meaning(_text(config))[1]


def copies_at_period_ends(traits_: frozenset[str]) -> bool:
    """Whether a system with such traits makes copies when a period ends, not as they are earned."""
    return "replicates" in traits_ and "background-jobs" not in traits_


def _text(config: Config) -> str:
    return json.dumps(config)


@functools.lru_cache(maxsize=4096)
def _meaning(config: str) -> tuple[frozenset[str], frozenset[str]]:
    """The keys that matter, and the traits."""
    mattering, found = _core.config_meaning(config)
    return frozenset(mattering), frozenset(found)
