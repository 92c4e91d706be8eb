"""Tests of mail on its way."""
