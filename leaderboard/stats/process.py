"""A procedure in a separate process, so that SciPy's memory is freed when it ends."""

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
    """The process ended without a result; the message is its last output."""


def run(
    name: str,
    scores: NDArray[np.float64],
    options: Mapping[str, str | int],
    progress: Callable[[float], None],
) -> bytes:
    """The packed result of a procedure, computed by another process.

    progress is called with shares from 0 to 1 as they come; what it raises ends the process. Raises
    ProcedureFailed where the process ends badly.
    """
    command = [sys.executable, "-m", MODULE, name, json.dumps(dict(options))]
    # Files, not pipes: neither side waits for the other to read.
    with TemporaryFile() as source, TemporaryFile() as target:
        source.write(pack({"scores": scores}))
        source.seek(0)
        with subprocess.Popen(
            command, stdin=source, stdout=target, stderr=subprocess.PIPE, env=os.environ | ONE_THREAD
        ) as process:
            try:
                last_line = _listen(process, progress)
            except BaseException:
                process.kill()
                raise
        if process.returncode != 0:
            raise ProcedureFailed(last_line)
        target.seek(0)
        return target.read()


def _listen(process: "subprocess.Popen[bytes]", progress: Callable[[float], None]) -> str:
    """Pass progress on until the process ends; the last line it printed."""
    assert process.stderr is not None, "opened with a pipe"
    last_line = ""
    for line in process.stderr:
        last_line = line.decode(errors="replace").strip() or last_line
        if (share := _share(last_line)) is not None:
            progress(share)
    process.wait()
    return last_line


def _share(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
