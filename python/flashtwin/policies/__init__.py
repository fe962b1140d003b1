"""Policies of the controller in Python: their names and digests, and what the engine calls."""
