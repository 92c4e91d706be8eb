"""Tests of the pages of operators."""
