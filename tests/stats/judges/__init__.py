"""Tests of how judges agree with a reference."""
