"""Tasks: creation, settings, phases, entries, people, news, pseudonyms and pictures."""
