"""Badges, frames and the data for other sites."""
