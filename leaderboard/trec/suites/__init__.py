"""Suites without a site: the file that names the members, submissions of many runs, their scores."""
