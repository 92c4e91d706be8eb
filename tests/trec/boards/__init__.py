"""Tests of board files."""
