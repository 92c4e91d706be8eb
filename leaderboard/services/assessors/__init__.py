"""Assessing: who judges what, what was judged, and how labels become judgments."""
