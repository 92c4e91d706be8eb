"""Tests of files in an object store."""
