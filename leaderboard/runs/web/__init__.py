"""The addresses of runs: pages and forms."""
