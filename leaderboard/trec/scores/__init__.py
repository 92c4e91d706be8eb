"""Run files scored against judgment files, and scores as text."""
