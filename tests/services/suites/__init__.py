"""Tests of suites of the site."""
