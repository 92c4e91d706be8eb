"""Tests of what visitors are given without being made again."""
