"""The same device and the same requests in flashtwin and in other people's simulators.

`python -m evidence.peers` runs all of it (see `__main__.py`); the tests need none of the peers.
"""
