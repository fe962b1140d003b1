"""Systems, and their runs on a trace: replays, comparisons, studies."""
