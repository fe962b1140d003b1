"""Traces: requests of a host, read, made from frames and columns, viewed as a table."""
