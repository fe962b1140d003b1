"""Many traces: each characterized in a worker process, then the statistics over all of them."""
