"""Evidence that needs more than the project's own tests: what stands in `docs/evidence` and how it was made."""
