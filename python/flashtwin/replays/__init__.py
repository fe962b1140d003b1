"""Systems, and their runs on a trace: replays, comparisons, result folders."""
