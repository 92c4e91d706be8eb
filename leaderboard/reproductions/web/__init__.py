"""The addresses of reproductions: pages and forms."""
