"""The addresses of mail and webhooks: pages and forms."""
