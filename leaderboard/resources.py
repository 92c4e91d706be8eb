"""Paths of the folders that are next to the package in a checkout and inside it in a wheel."""

from pathlib import Path

PACKAGE = Path(__file__).resolve().parent


def bundled(name: str) -> Path:
    """The folder `name` (templates or migrations), inside the package or one level up.

    Raises FileNotFoundError if neither exists, which means a broken installation.
    """
    for folder in (PACKAGE / name, PACKAGE.parent / name):
        if folder.is_dir():
            return folder
    raise FileNotFoundError(f"The folder {name!r} is missing from this installation.")
