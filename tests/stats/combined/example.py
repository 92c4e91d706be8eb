"""Three topics of five documents, two runs: worked by hand."""

import numpy as np

from leaderboard.stats.combined.labels import Labels

LABELS = Labels(
    topic=np.repeat([0, 1, 2], 5),
    machine=np.array([2, 1, 1, 0, 0, 2, 2, 0, 1, 0, 1, 0, 2, 1, 0]),
    people=np.array([2, -1, 0, -1, 1, 1, -1, 0, 1, -1, 1, 0, 2, -1, 0]),
    probability=np.array([1, 0.5, 0.5, 0.25, 0.25, 0.5, 0.5, 0.5, 1, 0.25, 0.5, 0.5, 0.5, 0.25, 0.25]),
    topics=3,
)
A, B, C, D, E = range(5)
RANKINGS = np.array(
    [
        [[A, B, D], [5 + B, 5 + A, 5 + E], [10 + C, 10 + A, 10 + B]],
        [[C, A, E], [5 + D, 5 + C, 5 + A], [10 + D, 10 + B, -1]],
    ]
)
