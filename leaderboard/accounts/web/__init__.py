"""The addresses of accounts and tokens: pages and forms."""
