"""The meaning of figures in words: one list of verdicts, shown by `explain`, `advise` and the report."""
