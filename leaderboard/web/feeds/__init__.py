"""Feeds of the site, tasks and teams."""
