"""Background work: the queue, and whether it is being done."""
