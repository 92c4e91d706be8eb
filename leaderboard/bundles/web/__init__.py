"""The addresses of bundles: pages and forms."""
