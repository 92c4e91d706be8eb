"""The queue of work for evaluators: jobs, leases, progress and its health."""
