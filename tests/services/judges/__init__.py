"""Tests of judges as participants."""
