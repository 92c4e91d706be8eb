"""The addresses of tasks: pages and forms."""
