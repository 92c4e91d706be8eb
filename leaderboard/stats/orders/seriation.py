"""An order in which neighbours are alike."""

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


def alike(rows: FloatArray) -> NDArray[np.intp]:
    """The order, (n,), that puts rows of similar shape next to each other; rows: (n, columns).

    Rows are alike as their correlation is high; one that does not vary is equally far from all. The
    order is that of the Fiedler vector, the eigenvector of the second smallest eigenvalue of the
    Laplacian of the similarities, turned so that the first row given is in the first half.
    Source: Atkins, Boman and Hendrickson, A Spectral Algorithm for Seriation and the Consecutive Ones
    Problem, SIAM Journal on Computing 28(1), 1998.

    >>> alike(np.array([[0.0, 1, 2, 9], [9.0, 2, 1, 0], [0.0, 1, 3, 8], [8.0, 3, 1, 0]])).tolist()
    [2, 0, 1, 3]
    """
    n = len(rows)
    if n < 3:
        return np.arange(n)
    centred = rows - rows.mean(axis=1, keepdims=True)
    length = np.linalg.norm(centred, axis=1, keepdims=True)
    unit = np.divide(centred, length, out=np.zeros_like(centred), where=length > 0)
    similar = (1 + unit @ unit.T) / 2
    np.fill_diagonal(similar, 0.0)
    laplacian = np.diag(similar.sum(axis=1)) - similar
    fiedler = np.linalg.eigh(laplacian)[1][:, 1]
    order = np.argsort(fiedler.round(12), kind="stable")
    return order if int(np.flatnonzero(order == 0)[0]) < n / 2 else order[::-1]
