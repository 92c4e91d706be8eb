"""Tests of every pair of runs, and corrections."""
