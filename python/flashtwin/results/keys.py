"""Properties of each key of the configuration, and the traits of a system by its policies.

The core declares both beside the keys and the policies (`x-when`, `x-moves`, `x-design`, `x-traits` in
[`flashtwin.config_schema`][]); a configuration is a mapping as results store it.

    KEYS["engine.hash_us"].when              # 'deduplicates'
    matters("engine.hash_us", config)        # whether another value can change what happens
    traits(config)                           # {'deduplicates', 'looks-at-contents', ...}
    undetermined(config)                     # ('engine.write_completes', ...)
    K.engine.hash_us                         # 'engine.hash_us'
"""

import functools
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from flashtwin import _core
from flashtwin.results.documents import json_object
from flashtwin.results.trees import leaves

Config = Mapping[str, Any]


@dataclass(frozen=True)
class Key:
    name: str
    #: The condition under which it matters; "always" where there is none.
    when: str
    #: Its effect by itself; empty for none.
    moves: str
    #: Why it defines a system by its paper; empty for ground.
    design: str
    label: bool


#: Every key by its dotted name, in the order of the configuration.
KEYS: Mapping[str, Key] = {
    one["name"]: Key(one["name"], one["when"], one["moves"] or "", one["design"] or "", one["label"])
    for one in json.loads(_core.config_keys())
}


def _tree() -> SimpleNamespace:
    root = SimpleNamespace()
    for name in KEYS:
        *tables, last = name.split(".")
        table = root
        for one in tables:
            table.__dict__.setdefault(one, SimpleNamespace())
            table = table.__dict__[one]
        table.__dict__[last] = name
    return root


#: Every key's dotted name as an attribute: `K.engine.hash_us` is "engine.hash_us", and a key that does not exist fails
#: where it is read instead of being no key of any system.
K = _tree()


#: JSON's types of values as Python's, with words.
_TYPES: Mapping[str, tuple[tuple[type, ...], str]] = {
    "string": ((str,), "a text"), "boolean": ((bool,), "true or false"), "integer": ((int,), "a whole number"),
    "number": ((int, float), "a number"), "array": ((list,), "a list"), "object": ((dict,), "a table"),
}  # fmt: skip


@functools.cache
def _types() -> Mapping[str, frozenset[str]]:
    """JSON's types of the values of each key."""
    found: dict[str, frozenset[str]] = {}

    def walk(node: Mapping[str, Any], key: str) -> Iterator[str]:
        for part in (*node.get("oneOf", ()), *node.get("anyOf", ())):
            yield from walk(part, key)
        for name, part in node.get("properties", {}).items():
            inner = f"{key}.{name}".lstrip(".")
            found[inner] = found.get(inner, frozenset()) | {*walk(part, inner)}
        yield from [node["type"]] if isinstance(node.get("type"), str) else node.get("type", ())

    list(walk(_schema(), ""))
    return found


def misfit(config: Config) -> str | None:
    """What a configuration of this version has in the place of a key's value; None if all are of the key's types."""
    for key, value in leaves(config):
        types = _types().get(key, frozenset()) & _TYPES.keys()
        # A truth is a whole number of Python's.
        fits = (isinstance(value, _TYPES[one][0]) and isinstance(value, bool) is (one == "boolean") for one in types)
        if types and not any(fits):
            return f"{key} is {value!r:.60}: expected {' or '.join(_TYPES[one][1] for one in sorted(types))}"
    return None


def table_of(key: str) -> str:
    """The table that a key is in: "engine" of "engine.hash_us"."""
    return key.rpartition(".")[0]


def whole_key(ending: str) -> str:
    """The dotted key that an ending stands for; of no key, or of several, the ending itself."""
    keys = [key for key in KEYS if f".{key}".endswith(f".{ending}")]
    return ending if ending in KEYS or len(keys) != 1 else keys[0]


def matters(key: str, config: Config) -> bool:
    """Whether another value of a key can change what happens under a configuration; where not, nothing does.

    A key that the core does not know, of another version's results, is taken to matter.
    """
    return key in mattering([key], config)


def mattering(keys: Iterable[str], config: Config) -> frozenset[str]:
    """Those of the keys that matter under a configuration; for many keys, as its text is made only once."""
    known = _meaning(json.dumps(config))[0]
    return frozenset(key for key in keys if key not in KEYS or key in known)


def ignored_because(key: str, config: Config) -> str | None:
    """Why a key does not matter: `'ftl.replication.policy is "none"'`; None where it does."""
    return None if matters(key, config) else _core.ignored_because(key, json.dumps(config))


def value_words(key: str, value: Any) -> str:
    """The effect of a value of a key: the first sentence of the core's words, without its end; empty of numbers."""
    node = _schema()
    for part in key.split("."):
        node = node.get("properties", {}).get(part, {})
    words = next((one.get("description", "") for one in node.get("oneOf", ()) if one.get("const") == value), "")
    return " ".join(words.split()).partition(". ")[0].rstrip(".")


def undetermined(config: Config) -> tuple[str, ...]:
    """Keys that the drive's file calls undetermined and that nobody has set: another value fits the drive as well."""
    return tuple(config["nand"].get("undetermined", ()))


def traits(config: Config) -> frozenset[str]:
    """The traits of a system: `deduplicates`, `spreads`, `replicates`, `redirects`, `weighs-load`, ..."""
    return _meaning(json.dumps(config))[1]


@functools.cache
def _schema() -> dict[str, Any]:
    return json_object(_core.config_schema())


@functools.lru_cache(maxsize=4096)
def _meaning(config: str) -> tuple[frozenset[str], frozenset[str]]:
    mattering, found = _core.config_meaning(config)
    return frozenset(mattering), frozenset(found)
