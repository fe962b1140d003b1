"""The properties of a workload that matter to an SSD, and the advice that follows from them."""
