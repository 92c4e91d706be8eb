"""A procedure in a process of its own: SciPy and what it needs are loaded there and gone when it ends."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from tempfile import TemporaryFile

import numpy as np
from numpy.typing import NDArray

from leaderboard.stats.arrays import pack

MODULE = "leaderboard.stats.procedures"
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1"}
"""A second thread of OpenBLAS waits by spinning: it would double the cost and gain nothing."""


class ProcedureFailed(Exception):
    """The process ended without a result; the message is the last it said."""


def run(
    name: str,
    scores: NDArray[np.float64],
    options: Mapping[str, str | int],
    progress: Callable[[float], None],
) -> bytes:
    """The packed result of a procedure, computed by another process.

    progress is told shares from 0 to 1 as they come; what it raises ends the process. Raises
    ProcedureFailed where the process ends badly.
    """
    command = [sys.executable, "-m", MODULE, name, json.dumps(dict(options))]
    # Files, not pipes: nobody waits for the other to read.
    with TemporaryFile() as source, TemporaryFile() as target:
        source.write(pack({"scores": scores}))
        source.seek(0)
        with subprocess.Popen(
            command, stdin=source, stdout=target, stderr=subprocess.PIPE, env=os.environ | ONE_THREAD
        ) as process:
            try:
                said = _listen(process, progress)
            except BaseException:
                process.kill()
                raise
        if process.returncode != 0:
            raise ProcedureFailed(said)
        target.seek(0)
        return target.read()


def _listen(process: "subprocess.Popen[bytes]", progress: Callable[[float], None]) -> str:
    """Pass progress on until the process ends; the last line it said."""
    assert process.stderr is not None, "opened with a pipe"
    said = ""
    for line in process.stderr:
        said = line.decode(errors="replace").strip() or said
        if (share := _share(said)) is not None:
            progress(share)
    process.wait()
    return said


def _share(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
