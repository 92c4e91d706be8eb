"""Webhooks of tasks and teams."""
