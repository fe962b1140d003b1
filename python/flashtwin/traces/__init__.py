"""Traces: what the host asked for, read, made from frames and columns, looked at as a table."""
