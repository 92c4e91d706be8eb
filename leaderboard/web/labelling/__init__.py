"""Addresses of the desk where nuggets and labels are made, and of the organisers' pages about it."""
