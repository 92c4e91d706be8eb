"""Tests of the pools and of judgments from clicks."""
