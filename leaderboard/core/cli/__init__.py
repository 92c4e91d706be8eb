"""Shared parts of all commands: site, actions as commands, failures and option texts."""
