"""The same device and the same requests in flashtwin and in other people's simulators: `python -m evidence peers`.

The tests need none of the peers.
"""
