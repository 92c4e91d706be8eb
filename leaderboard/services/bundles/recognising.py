"""What files of a folder are, by their first lines: topics, judgments, runs, a list of teams, or none."""

import re
from pathlib import Path

from leaderboard.errors import Invalid, TooLarge
from leaderboard.services.runs import lists
from leaderboard.trec.read.archives import Limits
from leaderboard.trec.read.converted import fits
from leaderboard.trec.read.forms import Head
from leaderboard.trec.read.other_forms import kind_of as kind_of_lines
from leaderboard.trec.read.other_forms import named
from leaderboard.trec.read.plain import plain_blocks
from leaderboard.trec.topics import forms
from leaderboard.trec.topics.records import ID_KEYS

TOPICS, QRELS, RUN, LIST = "topics", "judgments", "run", "list of teams"
ONE_LINE = Limits(line_bytes=2**20)
_BY_LINES = {"run": RUN, "qrels": QRELS, "letor": QRELS, "topics": TOPICS}
NAMED = {TOPICS: re.compile(r"topic|quer", re.IGNORECASE), QRELS: re.compile(r"qrel|judg", re.IGNORECASE)}
"""How such files are called."""
_IDS = "|".join(ID_KEYS).encode()
_HAS_ID = re.compile(rb'"(?:' + _IDS + rb')"\s*:')


def kind_of(path: Path, name: str) -> tuple[str, str]:
    """What a file is, or '' and why it is none of these; names count only where lines do not tell."""
    if lists.is_list(path, name):
        return LIST, ""
    head = Head.of_file(path, ONE_LINE)
    kind = _BY_LINES.get(kind_of_lines(head), "")
    if not kind and fits(head, "run") and fits(head, "qrels"):
        # Topic, docno and a whole number: a rank or a grade.
        kind = QRELS if NAMED[QRELS].search(name) else RUN
    if not kind and (other := named(head.block, "topics")):
        return "", f"it is {other[0]}"
    try:
        next(plain_blocks(path, ONE_LINE), b"")
    except (Invalid, TooLarge) as error:
        return "", error.message
    if kind:
        return kind, ""
    if not head.block.strip():
        return "", "it is empty"
    if b"\0" in head.block:
        return "", "it is not text"
    form = forms.form(head.block)
    if form in (forms.JSON, forms.JSON_LINES):
        is_sure = _HAS_ID.search(head.block) is not None
    else:
        is_sure = form not in forms.GUESSED and bool(head.lines)
    if is_sure or (form not in forms.REFUSED and NAMED[TOPICS].search(name)):
        return TOPICS, ""
    return "", "its lines are no topics, judgments or run" if head.lines else "it has comments only"
