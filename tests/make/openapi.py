"""Writes docs/openapi.json anew: python -m tests.make.openapi."""

import hashlib
from pathlib import Path

from leaderboard import reference
from tests.make.apps import _compiled
from tests.make.memory import share_templates

PATH = Path(__file__).resolve().parents[2] / "docs" / "openapi.json"


def made() -> bytes:
    """The document of the operations as they are."""
    with _compiled().app_context():
        return reference.written(reference.operations())


def digest(document: bytes) -> str:
    """What CHANGELOG.md names a document by."""
    return hashlib.sha256(document).hexdigest()[:12]


if __name__ == "__main__":
    share_templates()
    PATH.write_bytes(made())
    print(f"openapi.json {digest(PATH.read_bytes())}")
