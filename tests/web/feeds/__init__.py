"""Tests of feeds and calendars."""
