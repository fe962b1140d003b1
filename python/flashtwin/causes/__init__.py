"""Bottlenecks of a workload on a drive: one resource made ideal at a time, then steps possible in practice."""
