"""Tests of the pages of a task."""
