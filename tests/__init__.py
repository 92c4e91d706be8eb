"""The tests, in the folders of the features; what goes across features is beside them."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
"""The project."""
