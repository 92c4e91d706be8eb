"""Tests of the pages of suites."""
