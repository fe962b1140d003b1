"""Systems, and what each of them does with a trace: replays, comparisons, studies."""
