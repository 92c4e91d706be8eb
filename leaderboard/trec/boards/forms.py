"""What a file of a judge is: a board, labels of documents, or labels of answers.

Both have files of four and of six columns. Qrels have `0` or `Q0` in the second of them throughout, and a
board in the order `ranked`, which has that too, names runs of the reference in its third.
"""

import json
from collections.abc import Collection
from itertools import islice
from pathlib import Path
from typing import Literal

from leaderboard.trec.nuggets.argue import is_counted
from leaderboard.trec.read.lines import Limits, raw_lines, text_of

Form = Literal["board", "labels", "nuggets", "assignments", "support", "argue"]
MOST_LINES = 1000
"""How many lines of a file are looked at."""
_SECOND = (b"0", b"Q0", b"q0")

_RUN_IN = {4: 1, 6: 2}
"""Columns of a line -> where a board that looks like qrels has the run."""


def form_of(path: Path, runs: Collection[str], limits: Limits) -> Form:
    """What a file of a judge is; runs: of the reference. What is neither is read, and refused, as a board.

    Lines of another length do not make a board of labels: they are errors of that file.
    """
    are_labels = False
    for _, line in islice(raw_lines(path, limits), MOST_LINES):
        if line.lstrip().startswith(b"{"):
            return _form_of_object(line)
        fields = line.split()
        if line.startswith(b"#") or len(fields) not in _RUN_IN:
            continue
        if fields[1] not in _SECOND or text_of(fields[_RUN_IN[len(fields)]]) in runs:
            return "board"
        are_labels = True
    return "labels" if are_labels else "board"


def _form_of_object(line: bytes) -> Form:
    """What JSON lines are, by the keys of the first."""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return "board"
    if not isinstance(record, dict) or "measure" in record:
        return "board"
    if "judgments" in record or "report" in record or is_counted(record):
        return "argue"
    if "sentences" in record or "support_label" in record or "status" in record:
        return "support"
    given = record.get("nuggets")
    if isinstance(given, list):
        is_assigned = any(isinstance(one, dict) and "assignment" in one for one in given)
        return "assignments" if is_assigned or "run_id" in record else "nuggets"
    return "nuggets" if "nugget_bank" in record else "board"
