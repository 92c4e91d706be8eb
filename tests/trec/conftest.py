"""Fixtures of the parser tests."""

from collections.abc import Callable
from pathlib import Path

import pytest

Written = Callable[[str | bytes], Path]


@pytest.fixture
def written(tmp_path: Path) -> Written:
    """A function that writes text or bytes to a new file and returns its path."""
    count = 0

    def write(content: str | bytes) -> Path:
        nonlocal count
        count += 1
        path = tmp_path / f"file{count}"
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write
