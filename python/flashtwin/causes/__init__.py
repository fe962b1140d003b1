"""What limits a workload on a drive: one thing made ideal at a time, then steps that can be taken."""
