"""What figures of traces and runs mean, in words: one list of verdicts, shown by `explain`, `advise` and the report."""
