"""Results as files and tables: the one place that knows how they are called."""
