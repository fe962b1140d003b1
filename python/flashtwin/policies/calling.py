"""What the engine calls: a fresh instance of a policy for each run, and the arrays that it sees.

The core (`crates/python/src/policies.rs`) fills the arrays and calls the policy from the engine's thread.
"""

from __future__ import annotations

import inspect
import json
import reprlib
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flashtwin.errors import ConfigError
from flashtwin.policies.registry import FAMILIES, Policy, found


@dataclass(frozen=True)
class DriveShape:
    """The shape of the drive that a policy works for.

    >>> import flashtwin as ft
    >>> ft.DriveShape(8, 8, 4, 2, blocks_per_plane=512, pages_per_block=256).planes
    512
    """

    channels: int
    chips_per_channel: int
    dies_per_chip: int
    planes_per_die: int
    blocks_per_plane: int
    pages_per_block: int

    @property
    def chips(self) -> int:
        """Chips in all."""
        return self.channels * self.chips_per_channel

    @property
    def planes(self) -> int:
        """Planes in all; those of a chip follow one another."""
        return self.chips * self.dies_per_chip * self.planes_per_die


class PolicyTable:
    """The table of a call: read-only arrays by the names of the columns. You can make one to try a policy.

    >>> import numpy as np
    >>> import flashtwin as ft
    >>> int(ft.PolicyTable({"load": np.array([2, 0])}).load.argmin())
    1
    """

    def __init__(self, columns: dict[str, NDArray[np.int64]]) -> None:
        """Made by the engine."""
        self.__dict__.update(columns)

    def __repr__(self) -> str:
        shown = (f"{name}={np.array2string(one, threshold=16)}" for name, one in self.__dict__.items())
        return f"PolicyTable({', '.join(shown)})"


class Prepared:
    """A policy's instance in one run, with its arrays and its state."""

    def __init__(self, made: Policy, lengths: Sequence[int], seed: int, drive: DriveShape) -> None:
        """Makes the instance."""
        self.policy, self.seed, self.drive = made, seed, drive
        self.rng = np.random.Generator(np.random.PCG64([seed, zlib.crc32(made.family.encode())]))
        self.arrays = [np.zeros(length, np.int64) for length in lengths]
        given = {"rng": self.rng, "drive": drive}
        asked = [] if made.address else list(inspect.signature(made.made_of).parameters)
        wanted = {name: one for name, one in given.items() if name in asked}
        self.instance = made.made_of(**wanted) if isinstance(made.made_of, type) else made.made_of
        if made.address:
            self.call: Callable[..., Any] = _no_call
        elif not isinstance(made.made_of, type):
            self.call = partial(made.made_of, **wanted) if wanted else made.made_of
        elif callable(choose := getattr(self.instance, "choose", None)):
            self.call = choose
        else:
            raise ConfigError(f"the {made.family} policy '{made.name}' has no method `choose`; give its class one")

    def answer(self, number: int, more: Sequence[bytes]) -> tuple[list[bytes], str]:
        """The arrays of an answer, as bytes of int64; a text where they are wrong."""
        family = FAMILIES[self.policy.family]
        if more:
            rows = (np.frombuffer(one, np.int64) for one in more)
            answer = self.call(PolicyTable(dict(zip(family.first, rows, strict=True))), self.table, number)
        else:
            answer = self.call(number, self.table)
        given = [answer] if family.arrays == 1 else answer if isinstance(answer, tuple | list) else ()
        arrays = [np.asarray(one) for one in given]
        kinds = [one.ndim == 1 and (one.dtype.kind in "iu" or one.size == 0) for one in arrays]
        if len(arrays) != family.arrays or not all(kinds) or len({one.size for one in arrays}) != 1:
            shown = ", ".join(f"{one.dtype}{list(one.shape)}" for one in arrays if one.ndim) or reprlib.repr(answer)
            wanted = "two arrays of whole numbers of equal length" if more else "an array of whole numbers"
            return [], f"it answered {shown}: expected {wanted}"
        return [one.astype(np.int64).tobytes() for one in arrays], ""

    @cached_property
    def table(self) -> PolicyTable | None:
        names = FAMILIES[self.policy.family].columns
        views = {name: array.view() for name, array in zip(names, self.arrays, strict=True)}
        for view in views.values():
            view.flags.writeable = False
        return PolicyTable(views) if views else None

    def save(self) -> str:
        """What the policy remembers: the generator and what `state()` gives, as JSON."""
        own = None
        if isinstance(self.policy.made_of, type):
            if not callable(getattr(self.instance, "state", None)):
                raise ConfigError(
                    f"the policy '{self.policy.name}' has no `state()` and `restore(state)`, which snapshots and aged "
                    "drives need; give its class both, or set FLASHTWIN_CACHE=off if it is for an aged drive"
                )
            own = self.instance.state()
        return json.dumps({"rng": self.rng.bit_generator.state, "own": own})

    def copied(self) -> Handles:
        """For the core: a fresh instance in the same state."""
        other = Prepared(self.policy, [len(array) for array in self.arrays], self.seed, self.drive)
        other.load(self.save())
        for array, own in zip(other.arrays, self.arrays, strict=True):
            array[:] = own
        return other.handles()

    def handles(self) -> Handles:
        """For the core: what to call, its address if compiled, the number's name, table, columns, and their keeper."""
        columns = [(array.ctypes.data, len(array)) for array in self.arrays]
        if wrapped:
            self.call = wrapped[-1](self.call)
        return self.call, self.policy.address, FAMILIES[self.policy.family].argument, self.table, columns, self

    def load(self, text: str) -> None:
        state = json.loads(text)
        self.rng.bit_generator.state = state["rng"]
        if isinstance(self.policy.made_of, type):
            self.instance.restore(state["own"])


Handles = tuple[Callable[..., Any], int, str, PolicyTable | None, list[tuple[int, int]], Prepared]
#: Wraps the calls of policies, where `check_policy` counts them.
wrapped: list[Callable[[Callable[..., Any]], Callable[..., Any]]] = []


def prepared(reference: str, lengths: Sequence[int], seed: int, levels: Sequence[int]) -> Handles:
    """For the core: a fresh instance of a policy."""
    return Prepared(found(reference), lengths, seed, DriveShape(*levels)).handles()


def _no_call(*_: object) -> None:
    """Stands where a compiled function is called by its address."""
