"""The demo task: a small test collection made from Python 3.11's documentation, shipped with the package.

Real text, plain baseline runs and judgments made by a machine; the scripts behind every file are in the
repository's demo folder. Only paths and texts are here; loading them into a site is a service's work.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
DOCUMENTS = FOLDER / "documents.jsonl.zst"
TOPICS = FOLDER / "topics.xml"
LICENCE = FOLDER / "LICENSE.python-docs.txt"

SLUG = "python-docs"
NAME = "Python documentation search"
COLLECTION = "Python 3.11 documentation"
TEAM = "Baselines"
DEPTH = 100
LEVEL = 2
"""Least grade that counts as relevant: a related entry is not an answer."""
MEASURES = ("nDCG@10", "AP(rel=2)", "RR(rel=2)@10", "P(rel=2)@5", "R(rel=2)@100", "Judged@10")
PRIMARY = "nDCG@10"
LINK_TEMPLATE: str | None = None
"""None: an entry's page and anchor do not follow from its docno; each document has its own address."""

JUDGE = "a language-model assistant"
"""The judge."""

GRADES = {0: "not relevant", 1: "related", 2: "relevant", 3: "highly relevant"}
RUNS = (
    "boolean",
    "weak-counts",
    "tfidf",
    "char-ngram",
    "bm25",
    "bm25-desc",
    "bm25-fields",
    "title-only",
    "ql-dirichlet",
    "ql-jm",
    "bm25-rm3",
    "lsi",
    "minilm",
    "fusion-rrf",
)
"""Names of the runs, simplest methods first."""
UNPOOLED = ("minilm", "title-only")
"""Runs no document was taken from for judging."""
POOL_DEPTH = 8
"""Documents of each other run that were judged, for every topic."""


@dataclass(frozen=True)
class Revision:
    """One revision of the judgments: its qrels file and its note."""

    path: Path
    note: str


def runs() -> dict[str, Path]:
    """The run files by name, in the order of RUNS."""
    return {name: FOLDER / "runs" / f"{name}.run.gz" for name in RUNS}


def revisions() -> tuple[Revision, ...]:
    """The revisions of the judgments, oldest first."""
    return (
        Revision(FOLDER / "qrels-depth4.txt", "Pool of the first 4 documents of 12 runs"),
        Revision(FOLDER / "qrels-depth8.txt", "Pool of the first 8 documents of 12 runs"),
    )


def about() -> dict[str, Any]:
    """Counts, origin and agreement of the judgments, as the script that assembled them wrote them."""
    facts: dict[str, Any] = json.loads((FOLDER / "ABOUT.json").read_text("utf-8"))
    return facts


def description() -> str:
    """The task's description in Markdown, its figures taken from ABOUT.json."""
    facts = about()
    collection, agreement = facts["collection"], facts["agreement"]
    judged, pooled = facts["revisions"][-1]["judgments"], len(RUNS) - len(UNPOOLED)
    outside = " and ".join(f"`{name}`" for name in UNPOOLED)
    return f"""\
Find the entry of Python's documentation that answers a programmer's question.

**Collection.** {collection["documents"]:,} entries of the library and language reference, the how-tos, the
tutorial and the FAQ: one function, class, section or question each. Taken from Debian's package
`{collection["package"]}` {collection["version"]}; © Python Software Foundation, under the PSF licence.

**Topics.** {facts["topics"]} queries as typed into a search box, with a description and a narrative, written
by a language-model assistant before any run existed: how-to, error message, concept, comparison, known item,
and six ambiguous ones.

**Runs.** {len(RUNS)} baselines to depth {DEPTH}, each with its measured time per topic. The pool contains the
top {facts["pool_depth"]} documents of {pooled} of them. {outside} did not contribute, so more of their
documents are unjudged; unjudged documents count as not relevant.

**Judgments.** {judged:,} grades from 0 (not relevant) to 3 (highly relevant), assigned by a machine, a
language-model assistant, from title and beginning of the text alone, in random order, blind to run and rank.
There are no human judgments.
{_agreement(agreement)}

This task demonstrates the site. It is far too small to rank these methods in general.
"""


def _agreement(agreement: dict[str, Any] | None) -> str:
    """A sentence on the agreement of two judges, or that nothing was judged twice."""
    if agreement is None:
        return "No topic was judged a second time, so agreement with another judge is unknown."
    return (
        f"{len(agreement['topics'])} topics ({agreement['judgments']} documents) were judged a second time, "
        f"independently, by the same kind of machine: Cohen's kappa is {agreement['kappa']:.2f}, "
        f"with linear weights {agreement['kappa_linear']:.2f}. "
        "Agreement between machines says nothing about agreement with people."
    )
