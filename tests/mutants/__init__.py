"""Changes the core on purpose, and lists the changes that no test notices."""
