"""Notifications: mail and webhooks."""
