"""The set-up of the DS-FTL paper's experiments: one for all eight workloads.

What the text says is in the presets: transactions are executed by dies (2.1), comparisons wait for idle time (4.2.2).
Pages wait in DRAM while they are hashed (4.2.1). SSDsim, in which the paper implements its scheme, gives a page to
flash when another needs its place, and the write that needs it waits: once DRAM is full, a write takes a program as
without it. So `engine.write_completes` stays `programmed`; a write cache is among the sensitivities and the set-ups.
"""

from __future__ import annotations

from collections.abc import Mapping

from flashtwin.papers.setup import Choice, Setup
from flashtwin.settings import Value

SETUP = Setup((
    Choice(
        "ftl.allocation.order", "PDWC", "2.2, 5.1.4",
        "\"in a specific order of priority for these four levels\", which is not named. Neighbours on one chip are "
        "what makes chips differ by a third (Fig. 2), and what DS-FTL takes apart.",
    ),
))  # fmt: skip
#: What DS-FTL alone has: the allocation that proposes a place, which the other schemes are themselves. "This scheme
#: builds upon state-of-art page allocation schemes" (4.1); that of the paper's comparison is HIPA.
BELOW: Mapping[str, Value] = {"ftl.allocation.policy": "hipa"}
