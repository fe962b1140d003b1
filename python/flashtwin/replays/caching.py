"""The write-back cache that remedies add: how large it is, and which systems can have none."""

from collections.abc import Mapping
from typing import Any

from flashtwin.results.keys import K

#: The cache: 16 MiB of pages of 4 KiB. Ours.
PAGES = 4096
KEY = K.engine.write_cache_pages
#: Whether it survives a power cut: then a flush need not write it out.
PROTECTED = K.engine.write_cache_protected
#: Rules of `engine.write_completes` under which a write is answered before its page is programmed: the core has no
#: drive with a cache besides.
EARLY = ("hashed", "buffered")


def answers_early(engine: Mapping[str, Any]) -> str:
    """Why a system is not given the cache, in a few words; empty where it can have it."""
    if engine["write_cache_pages"]:
        return f"has one of {engine['write_cache_pages']:,} pages already"
    if engine["write_completes"] in EARLY:
        return f"answers writes before they are programmed, `engine.write_completes = {engine['write_completes']}`"
    return ""
