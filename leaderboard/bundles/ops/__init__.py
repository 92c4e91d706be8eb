"""Bundles: rules, changes and queries."""
