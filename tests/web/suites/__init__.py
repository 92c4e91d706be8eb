"""Tests of the addresses of suites."""
