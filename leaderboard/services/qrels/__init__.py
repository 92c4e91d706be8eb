"""Judgments as data: read from files, kept as lines of revisions, joined into what scores rest on."""
