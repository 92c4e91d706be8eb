"""The demo's second task: answers with citations over the documents of the first, with judgments by machines.

As in the first task only paths and texts are here; the programs behind every file are in the repository's
demo folder.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
TOPICS = FOLDER / "topics.jsonl"

SLUG = "python-answers"
NAME = "Python documentation answers"
DIALECT = "longeval-rag"

JUDGE = "a language-model assistant (the demo's)"
"""Author of the nuggets, of one of the runs, and of the labels behind the newest revision."""
COUNTER = "a program that counts shared words"
"""Author of the support labels of the first revision."""
RUNS = (
    "weak-counts.lead",
    "lsi.lead",
    "bm25.lead",
    "bm25.query",
    "bm25.long",
    "bm25-desc.by-rank",
    "fusion-rrf.query",
    "fusion-rrf.mmr",
    "fusion-rrf.twice",
    "minilm.one",
    "minilm.query",
    "minilm.written",
)
"""Names of the runs, each that of a ranking of the first task, a dot and how it was made into answers."""
STATED = {"minilm.written": {"llm": JUDGE}}
"""Facts stated with the files of runs: the one that a language model wrote."""
UNRANKED = frozenset(STATED)
"""Runs next to the others, without a rank: who wrote this one wrote what it is judged by."""


@dataclass(frozen=True)
class AnswerRevision:
    """One revision of the judgments: the file of each part that is new in it, who made it, and its note."""

    files: Mapping[str, Path]
    machines: Mapping[str, str] = field(hash=False)
    note: str


def runs() -> dict[str, Path]:
    """The files of answers by run, in the order of RUNS."""
    return {name: FOLDER / "runs" / f"{name}.zip" for name in RUNS}


def revisions() -> tuple[AnswerRevision, ...]:
    """The revisions of the judgments, oldest first."""
    first = {"nuggets": "nuggets.jsonl", "assignments": "assignments.jsonl", "support": "support-words.jsonl"}
    return (
        AnswerRevision(
            {part: FOLDER / name for part, name in first.items()},
            {"nuggets": JUDGE, "assignments": JUDGE, "support": COUNTER},
            "Nuggets and assignments by one machine, support labels by another",
        ),
        AnswerRevision(
            {"support": FOLDER / "support.jsonl"},
            {"support": JUDGE},
            "Support labels by the machine that wrote the nuggets",
        ),
    )


def about() -> dict[str, Any]:
    """Counts and agreement of the judgments, as the program that assembled them wrote them."""
    facts: dict[str, Any] = json.loads((FOLDER / "ANSWERS.json").read_text("utf-8"))
    return facts


def description() -> str:
    """The task's description in Markdown, its figures taken from ANSWERS.json."""
    facts = about()
    labels, pairs = facts["assignment_agreement"], facts["support_agreement"]
    return f"""\
Answer a programmer's question in a few sentences, and cite the entries of Python's documentation that say so.

**Topics and documents.** {facts["topics"]} topics of the task
[Python documentation search](/tasks/python-docs) that need an explanation, and its documents: entries of
Python 3.11's documentation, © Python Software Foundation, under the PSF licence.

**Runs.** {facts["runs"]} runs, each named after a ranking of that task. {len(RUNS) - 1} copy sentences from
its first documents, by a program and without a language model. `minilm.written` was written by {JUDGE}.
The same machine wrote the nuggets, so its scores mean nothing and it is unranked; it shows how such
runs are marked.

**Judgments.** {facts["nuggets"]} nuggets, {facts["vital"]} of them vital; {facts["assignments"]:,}
assignments; support labels of {facts["pairs"]} distinct pairs of a segment and a document that it cites,
of which {facts["copied_pairs"]} are copied word for word and need no judge. All are by {JUDGE},
from the distinct segments of a topic in random order, without the names of runs, though it knew those it had
written itself. There are no human judgments.

**A second machine.** {COUNTER[0].upper()}{COUNTER[1:]} labelled a part independently: {labels["labels"]}
assignments on {len(facts["second_topics"])} topics (Cohen's kappa {labels["kappa"]:.2f}, with linear weights
{labels["kappa_linear"]:.2f}) and all support labels ({pairs["kappa"]:.2f} and {pairs["kappa_linear"]:.2f} on
the {pairs["labels"]} pairs that are not copied). The first revision has its support labels. Agreement between
machines says nothing about agreement with people.

This task demonstrates the site. It is far too small to rank these methods in general.
"""
