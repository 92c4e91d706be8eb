"""The names of forms that are neither runs nor judgments, each with the one step that leads on."""

import re
from collections.abc import Callable
from typing import NamedTuple

from leaderboard.errors import Problem
from leaderboard.trec.read.forms import Head, Kind, is_grade, is_number, looks_ranked
from leaderboard.trec.read.lines import shown

RUN_LINE, QRELS_LINE = "topic Q0 docno rank score tag", "topic 0 docno grade"
_USUAL = {"run": RUN_LINE, "qrels": QRELS_LINE}
_BLANKS = rb"^[\s\xef\xbb\xbf]*"


class Other(NamedTuple):
    """A form: how its text begins or what it holds, its name, and what to do about it."""

    pattern: re.Pattern[bytes]
    name: str
    remedy: str


OTHERS = (
    Other(
        re.compile(rb"^version https://git-lfs"),
        "a Git LFS pointer, which stands for the file",
        "Run `git lfs pull` and send the file that it fetches.",
    ),
    Other(
        re.compile(_BLANKS + rb"(<!doctype html|<html)", re.IGNORECASE),
        "a web page (HTML), perhaps one that says why a download failed",
        "Open it in a browser, download the file again and send that.",
    ),
    Other(re.compile(rb"^PAR1"), "a Parquet table", "Write it as lines, for example with pandas: {write}"),
    Other(re.compile(rb"^%PDF"), "a PDF document", "Send the plain text file: one line `{line}` each."),
    Other(
        re.compile(rb"^(\x89PNG|\xff\xd8\xff|GIF8|BM\x00?)"),
        "a picture",
        "Send the plain text file: one line `{line}` each.",
    ),
    Other(
        re.compile(rb"^(\x93NUMPY|\x89HDF|SQLite format 3|\x80[\x02-\x05]|ORC|Obj\x01|ARROW1)"),
        "a binary data file",
        "Read it with the program that wrote it, and write one line `{line}` each.",
    ),
    Other(
        re.compile(rb"<(item)\s[^>]*seqNum", re.IGNORECASE),
        "a TRECVID run in XML",
        "Write a line for each item: tNum Q0 shotId seqNum SCORE pid, with scores that fall as seqNum rises.",
    ),
    Other(
        re.compile(
            _BLANKS
            + rb"(<\?xml|<!doctype|<[a-z]+[\s>])(?s:.*)<(top|topic|query|num|topics|queries|argument)[\s>]",
            re.IGNORECASE,
        ),
        "a topics file",
        "Send it as topics.",
    ),
    Other(re.compile(_BLANKS + rb"<top>", re.IGNORECASE), "a topics file", "Send it as topics."),
    Other(
        re.compile(_BLANKS + rb"(<\?xml|<[a-z])", re.IGNORECASE),
        "an XML file",
        "Write one line `{line}` each.",
    ),
    Other(
        re.compile(rb'"(mteb_version|mteb_dataset_name|dataset_revision)"|"task_name"(?s:.*)"scores"'),
        "a file of MTEB results: scores, no rankings",
        "Send what was ranked; MTEB writes it with `save_predictions=True`.",
    ),
    Other(
        re.compile(rb'"(turns|utterances|conversation)"\s*:\s*\['),
        "a file of conversations with turns",
        "Send it as topics, one object a line with the turn's id and text.",
    ),
    Other(
        re.compile(_BLANKS + rb'\{(?s:.*?)"(responses?|answer|references|citations)"\s*:', re.IGNORECASE),
        "a file of answers",
        "Send it to a task of answers, or check it with `--kind answers`.",
    ),
    Other(
        re.compile(rb'^[\s]*[\[{](?s:.*?)"(text|title|query|question|body)"\s*:'),
        "a topics file",
        "Send it as topics.",
    ),
    Other(
        re.compile(rb"^# ir_metadata.start(?![\s\S]*\n[^#\s])"),
        "an ir_metadata header without a run",
        "Put the run's lines `{line}` below it and send both as one file.",
    ),
    Other(re.compile(_BLANKS + rb"[\[{]", re.IGNORECASE), "JSON of an unknown shape", "{json}"),
    Other(
        re.compile(rb"^[+-]?\d+(\.0*)?\s+qid:\S+"),
        "a file of LETOR or RankLib judgments",
        "Send it as judgments.",
    ),
    Other(
        re.compile(rb"^(---\s*\n|[A-Za-z_][\w -]*:(\s*\n\s+|[ ]\S.*\n[A-Za-z_][\w -]*:))"),
        "a YAML file",
        "Write one line `{line}` each.",
    ),
)
_WRITE = {
    "run": "df.assign(Q0='Q0')[['topic','Q0','docno','rank','score','tag']].to_csv('run.txt', sep=' ', "
    "header=False, index=False)",
    "qrels": "df.assign(Q0=0)[['topic','Q0','docno','grade']].to_csv('qrels.txt', sep=' ', header=False, "
    "index=False)",
}
_JSON = {
    "run": 'Write {"TOPIC": {"DOCNO": SCORE}}, or one line `topic Q0 docno rank score tag` each.',
    "qrels": 'Write {"TOPIC": {"DOCNO": GRADE}}, or one line `topic 0 docno grade` each.',
}


def problem_of(head: Head, kind: Kind) -> Problem | None:
    """What the file is instead, None where nothing is known of it; then its lines are looked at."""
    found = next(((one.name, one.remedy) for one in OTHERS if one.pattern.search(head.block)), None)
    if found is None and head.lines:
        found = next(((name, remedy) for fits, name, remedy in _OF_LINES[kind] if fits(head.lines)), None)
    if found is None:
        return None
    name, remedy = found
    for word, text in (("{line}", _USUAL[kind]), ("{write}", _WRITE[kind]), ("{json}", _JSON[kind])):
        remedy = remedy.replace(word, text)
    rule = f"This is {name}, not {'a run' if kind == 'run' else 'judgments'}."
    first = head.lines[0] if head.lines else head.block.split(b"\n", 1)[0]
    number = head.block[: head.block.find(first)].count(b"\n") + 1
    return Problem(rule, remedy, number, "", shown(first))


def _is_qrels(lines: list[bytes]) -> bool:
    rows = [line.split() for line in lines]
    return not looks_ranked(lines) and all(len(row) == 4 and is_grade(row[3]) for row in rows)


def _is_run(lines: list[bytes]) -> bool:
    rows = [line.split() for line in lines]
    return all(len(row) == 6 and row[3].isdigit() and is_number(row[4]) for row in rows) or looks_ranked(
        lines
    )


def _is_topics(lines: list[bytes]) -> bool:
    rows = [line.split(b"\t") for line in lines]
    return all(len(row) == 2 for row in rows) and any(len(row[1].split()) > 1 for row in rows)


def _is_pairs(lines: list[bytes]) -> bool:
    return all(len(line.split()) == 2 for line in lines)


_Line = tuple[Callable[[list[bytes]], bool], str, str]
_TOPICS: _Line = (_is_topics, "a topics file", "Send it as topics.")
_OF_LINES: dict[str, tuple[_Line, ...]] = {
    "run": (
        _TOPICS,
        (
            _is_qrels,
            "a qrels file (topic, iteration, docno, grade)",
            "Send it as judgments, and the run here.",
        ),
        (_is_pairs, "a list of two columns without scores or ranks", "Write one line `{line}` each."),
    ),
    "qrels": (
        (_is_run, "a run", "Send it as a run; qrels have four columns."),
        _TOPICS,
        (
            _is_pairs,
            "a list of two columns, topic and docno, without grades",
            "If each pair is relevant, say so: map grade=1 (--map grade=1); else add the column of grades.",
        ),
    ),
}
