"""The addresses of the site: pages and forms."""
