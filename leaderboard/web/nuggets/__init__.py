"""Addresses and forms of nuggets and labels."""
