"""Webhooks: who is told of what, and the way there."""
