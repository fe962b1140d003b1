"""Recipes: synthetic workloads, and the recipe that imitates a trace."""
