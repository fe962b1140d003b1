"""Real bytes: what is served to a running system, and recorded on the way."""
