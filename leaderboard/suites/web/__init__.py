"""The addresses of suites: pages and forms."""
