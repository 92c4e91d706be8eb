"""What the documents show to be typed."""

import re
from pathlib import Path


def blocks(document: Path, language: str = "sh") -> list[str]:
    """The text of each block of a language, in order."""
    return re.findall(
        rf"^```{language}\n(.*?)^```", document.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
    )


def commands(document: Path) -> list[str]:
    """The lines of a document's shell blocks, in order, a command each."""
    return [line for block in blocks(document) for line in block.splitlines() if line.strip()]
