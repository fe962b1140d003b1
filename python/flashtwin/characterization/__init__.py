"""What a workload is like to an SSD: its figures, and the advice that follows from them."""
