"""One topic worked by hand: three runs, nine documents, of which d1, d6 and d9 are relevant."""

import numpy as np
from numpy.typing import NDArray

from leaderboard.pooling.methods import Pooled

A, B, C = "d1 d2 d3 d4 d5", "d2 d1 d6 d3 d7", "d8 d9 d1 d6 d2"


def indices(documents: str) -> NDArray[np.int64]:
    """Document indices: d1 is 0."""
    return np.array([int(name[1:]) - 1 for name in documents.split()], dtype=np.int64)


def names(documents: object) -> str:
    """The documents' names: 0 is d1."""
    return " ".join(f"d{document + 1}" for document in np.asarray(documents).tolist())


RUNS = [indices(A), indices(B), indices(C)]
SCORES = [np.arange(5.0, 0.0, -1.0)] * 3
GRADES = {document: int(document in (0, 5, 8)) for document in range(9)}


def priorities(pooled: Pooled, digits: int) -> dict[str, float]:
    """The priority of each document, rounded."""
    return {
        names([document]): round(priority, digits)
        for document, priority in zip(pooled.documents, pooled.priority.tolist(), strict=True)
    }
