"""The benchmark: generators of runs, and one comparison of evaluators on them."""
