"""Tests of making tasks."""
