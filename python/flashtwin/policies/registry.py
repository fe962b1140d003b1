"""Policies of this process by the names under which configurations have them: `python:FAMILY/NAME@DIGEST`.

A configuration says the name alone, so that stores, results and aged drives tell policies apart. The name is found out
when a system is made, not when the policy is: a global that was set in between counts.
"""

from __future__ import annotations

import importlib
import re
import secrets
import sys
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import FunctionType
from typing import Any

from flashtwin.arguments import checked
from flashtwin.errors import ArgumentError, ConfigError, not_installed

_CHIPS = ("free_pages", "stored_pages", "erases", "blocks", "popularity", "load", "received")


@dataclass(frozen=True)
class Family:
    """What the policies of a family are called with."""

    #: The key where they stand, below `ftl`.
    key: str
    #: The number.
    argument: str
    #: The columns of the table that follows.
    columns: tuple[str, ...] = ()
    #: How many arrays they answer with; 0 where the answer is one number.
    arrays: int = 0
    #: The columns of one more table, which comes first, and the number last.
    first: tuple[str, ...] = ()


FAMILIES: Mapping[str, Family] = {
    "degree": Family("replication.degree", "popularity"),
    "placement": Family("replication.placement", "home", (*_CHIPS, "may")),
    "replication.period": Family(
        "replication.policy", "budget", _CHIPS, arrays=2, first=("content", "popularity", "pages", "home")
    ),
    "victim": Family("gc.victim", "plane", ("valid", "erases", "closed", "changed", "age")),
    "allocation": Family("allocation.policy", "address", ("load",)),
    "redirection": Family("redirection.policy", "copies", ("chip", "load", "second_load")),
    "partition": Family("partition.policy", "partitions", ("writes", "written", "partition"), arrays=1),
    "eviction": Family("dedup.eviction", "victims", ("content", "references", "writes", "written"), arrays=1),
}
_PREFIX = "python:"
#: Stands for the digest of a policy that has none; a number follows that no other policy has.
_UNCOVERED = "uncovered-"


@dataclass(frozen=True)
class Policy:
    """A function, class or compiled function as a policy of a family."""

    family: str
    #: As messages and results call it.
    name: str
    made_of: Any
    #: The address of a compiled function, 0 of one in Python.
    address: int = 0

    @property
    def reference(self) -> str:
        """The name in configurations. Whoever takes it can be sure that this process finds the policy again."""
        from flashtwin.policies.digest import Uncovered, digest

        try:
            told = digest(self.made_of)
        except Uncovered as error:
            told = _why(self, str(error))
        reference = f"{_PREFIX}{self.family}/{self.name}@{told}"
        _known[reference] = self
        return reference


class CompiledPolicy:
    """A compiled function as a policy; `policy` makes it."""

    def __init__(self, made: Policy) -> None:
        """Use `flashtwin.policy`."""
        self.__flashtwin_policy__ = made


_known: dict[str, Policy] = {}
#: Policies that came from another process: their source stayed there.
_received: set[str] = set()
_uncovered: dict[int, tuple[str, str, Policy]] = {}


@checked
def policy(family: str, /, *, name: str | None = None) -> Callable[[Any], Any]:
    """Makes a policy of the controller of a function, a class or a compiled function.

    Give it to a key of its family where the name of a built-in policy stands: `ft.system("rr-ssd", placement=mine)`.
    A function of one of these parameters, or a class with a method `choose` of them, answers with a whole number, or
    with an array of them where that is said:

    * `degree` (key `replication.degree`): `(popularity)`, the reads of a content in a period, 0 to 255. Answer: the
      copies that it earns, from 1 to the number of chips.
    * `placement` (`replication.placement`): `(home, chips)`, the chip of the first copy and all chips. Answer: a chip
      whose `chips.may` is 1, or -1 for no copy. Columns: `free_pages`, `stored_pages`, `erases`, `blocks`,
      `popularity` (in 1/65536 of a read), `load`, `received` (copies), `may`.
    * `replication.period` (`replication.policy`): `(contents, chips, budget)` at the end of each period: the contents
      that were read in it, the most popular first; the chips with the columns of a placement but `may`; and the pages
      that are free for copies. Further copies replace those of less popular contents; where there are none, the
      rest of the plan is left out. Answer: two arrays of equal length, contents and chips, a copy for each pair.
      Columns of `contents`: `content` (its number), `popularity`, `pages` (with its copies), `home` (first chip).
    * `victim` (`gc.victim`): `(plane, blocks)`, the blocks of the plane. Answer: a block whose `blocks.closed` is not
      0, or -1 for none now. Columns: `valid` (pages), `erases`, `closed` (the number of its closing in the plane),
      `changed` (the number of its last change; 0 before the plane first looked for a victim), `age` (blocks closed
      since it changed, from 1).
    * `allocation` (`allocation.policy`): `(address, chips)`, the number of the host's page. Answer: a plane of the
      drive, from 0. Column: `load`.
    * `redirection` (`redirection.policy`): `(copies, table)`, how many copies of a page there are, 2 to 256, which are
      the first entries of the table. Answer: the place of the one to read; 0 is the first copy. Columns: `chip`,
      `load`, and `second_load`, which decides among equals.
    * `partition` (`partition.policy`): `(partitions, pages)` as each window of the host's writes begins
      (`ftl.partition.window`): the number of partitions, and all logical pages in the order of their addresses. Answer:
      an array with the partition of each page, from 0. Columns: `writes` (since the last call), `written` (the number
      of the host's write that wrote it last, from 1; 0 before), `partition` (now; the last one at first).
    * `eviction` (`dedup.eviction`): `(victims, entries)`, all entries of the full store. Answer: an array of the places
      in the table of 1 to `victims` different entries, the first to go first: 256, or an eighth of the entries if that
      is more. One that is written or leaves before its turn comes is passed over, and when all are used up, the policy
      is asked again. Columns: `content` (its number), `references` (logical pages; 1 in inverted tables), `writes`
      (since it was entered), `written` (the number of its last write).

    A table has a read-only array of int64 for each column. It is filled anew for each call: copy what you want to keep.

    A class gets one instance a run. If its `__init__`, or a function, has a parameter `rng`, it gets a NumPy generator
    from the run's seed; one called `drive` gets the shape of the drive (`DriveShape`). A class whose `state()` gives
    numbers, texts and lists, which `restore(state)` takes, can be kept in an aged drive.

    A compiled function (`numba.cfunc`, a function pointer of `ctypes`) is called by its address:
    `int64_t f(int64_t number, int64_t length, const int64_t *column, ...)`, with the columns in the order above.

    Args:
        family: the family.
        name: as messages and results call it; the function's or class's own name when not given.

    Raises:
        ArgumentError: there is no such family, or what is decorated is no function and no class.

    >>> import flashtwin as ft
    >>> @ft.policy("victim")
    ... def emptiest(plane, blocks):
    ...     closed = blocks.closed.nonzero()[0]
    ...     return closed[blocks.valid[closed].argmin()]
    >>> ft.system("conventional", victim=emptiest).config["ftl"]["gc"]["victim"].split("@")[0]
    'python:victim/emptiest'
    """
    if family not in FAMILIES:
        raise ArgumentError(f"there is no family of policies '{family}'; give one of {', '.join(FAMILIES)}")

    def made(of: Any) -> Any:
        own = name or getattr(of, "__name__", None)
        if isinstance(of, FunctionType | type) and own:
            of.__flashtwin_policy__ = Policy(family, _named(own), of)  # type: ignore[union-attr]
            return of
        if FAMILIES[family].arrays:
            raise ArgumentError(f"{of!r} is no function or class in Python, which a policy that gives arrays has to be")
        address = _address(of, 2 + len(FAMILIES[family].columns))
        return CompiledPolicy(Policy(family, _named(own or "compiled"), of, address))

    return made


def _named(name: str) -> str:
    if not re.fullmatch(r"[A-Za-z][\w.-]*", name):
        raise ArgumentError(f"'{name}' is no name of a policy; give it one: ft.policy(family, name='mine')")
    return name


def _address(of: Any, parameters: int) -> int:
    """The address of a compiled function, whose parameters are counted where they are known."""
    import ctypes

    if isinstance(of, ctypes._CFuncPtr):  # type: ignore[attr-defined]
        if of.argtypes is None or of.restype is not ctypes.c_int64:
            raise ArgumentError(f"{of!r} has no types; set its argtypes, and its restype to ctypes.c_int64")
        count, address = len(of.argtypes), ctypes.cast(of, ctypes.c_void_p).value or 0
    elif isinstance(getattr(of, "address", None), int) and hasattr(of, "_sig"):
        count, address = len(of._sig.args), of.address
    else:
        raise ArgumentError(
            f"{of!r}, of type {type(of).__name__}, is no policy; decorate a function or a class, of which each run "
            "gets an instance of its own"
        )
    if count != parameters:
        raise ArgumentError(f"{of!r} has {count} parameters; a compiled policy of this family has {parameters}")
    return address


def _why(made: Policy, why: str) -> str:
    """A digest that no other policy has, for one that cannot be covered."""
    number, _, _ = _uncovered.setdefault(id(made.made_of), (f"{_UNCOVERED}{secrets.token_hex(6)}", why, made))
    return number


def text_of(value: Any) -> str:
    """The name in configurations of a policy that stands as the value of a key.

    Raises:
        ArgumentError: it is an instance of a policy's class.
    """
    made: Policy = value.__flashtwin_policy__
    if value is not made.made_of and not isinstance(value, CompiledPolicy):
        raise ArgumentError(
            f"an instance of the policy '{made.name}' is no value, because each run gets a fresh one; give the class"
        )
    return made.reference


def found(reference: str) -> Policy:
    """The policy of this process with a name from a configuration.

    Raises:
        ConfigError: there is none, or it was changed since the name was taken.
    """
    made = _known.get(reference)
    if made is None:
        raise ConfigError(
            f"the policy {reference} is not known in this process; make the system with `ft.system` from the function "
            "or class itself"
        )
    if reference not in _received and made.reference != reference:
        raise ConfigError(
            f"the policy '{made.name}', or a value that it refers to, was changed since the system was made; make it "
            "again with `ft.system`"
        )
    return made


def check_covered(config: Mapping[str, Any]) -> None:
    """Refuses a configuration with a policy that has no digest, because its runs could not be told from others.

    Raises:
        ArgumentError: it has one; the message says why it has none.
    """
    for number, why, made in _uncovered.values():
        if f"@{number}" in repr(config):
            raise ArgumentError(
                f"the policy '{made.name}' cannot be told from others, so that no store can keep its runs: {why}. "
                "Use `ft.replay` or `ft.compare`, which keep nothing, or change that"
            )


def shipped(texts: Sequence[str]) -> dict[str, str]:
    """Policies named in texts, for a worker of one's own: pickled by value, because it may not have their files."""
    wanted = [one for one in _known if any(one in text for text in texts)]
    if not wanted:
        return {}
    try:
        import cloudpickle  # type: ignore[import-untyped]
    except ImportError:
        raise not_installed("a policy in another process", "cloudpickle", "cloudpickle") from None
    packed = {}
    for one in wanted:
        module = sys.modules.get(_known[one].made_of.__module__)
        by_value = module is not None and module.__name__ not in (
            "__main__",
            *cloudpickle.list_registry_pickle_by_value(),
        )
        if by_value:
            cloudpickle.register_pickle_by_value(module)
        try:
            packed[one] = b64encode(cloudpickle.dumps(_known[one])).decode()
        finally:
            if by_value:
                cloudpickle.unregister_pickle_by_value(module)
    return packed


def received(packed: Mapping[str, str]) -> None:
    """Takes what `shipped` of one's own parent process gave."""
    for reference, text in packed.items():
        if reference not in _known:
            pickle = importlib.import_module("pickle")
            _known[reference] = pickle.loads(b64decode(text))
            _received.add(reference)
