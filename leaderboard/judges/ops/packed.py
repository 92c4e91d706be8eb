"""Storage format of an accepted file of a judge."""

import hashlib
import json
from collections.abc import Set

import numpy as np

from leaderboard.checksums import with_checksum
from leaderboard.trec.runs.fingerprints import SKETCH_SIZE

Cell = tuple[str, str, float | str]
"""Contents of a submission: run, topic and value of a board; topic, document and grade of labels; or text."""


def sketch_of(cells: Set[Cell]) -> bytes:
    """The smallest hashes of the contents, with a checksum."""
    hashes = sorted({_hash(cell) for cell in cells})[:SKETCH_SIZE]
    return with_checksum(np.array(hashes, "<u8").tobytes())


def _hash(cell: Cell) -> int:
    return int.from_bytes(hashlib.blake2b(json.dumps(cell).encode(), digest_size=8).digest(), "little")
