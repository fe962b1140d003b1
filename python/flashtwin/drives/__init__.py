"""Fitting a drive to measurements of a real one."""
