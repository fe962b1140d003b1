"""Real bytes: serves drives to a running system, and records its requests."""
