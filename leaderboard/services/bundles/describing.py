"""What a bundle says of itself: a README in plain words, and RO-Crate metadata for programs.

RO-Crate 1.1, https://www.researchobject.org/ro-crate/specification/1.1/
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from leaderboard import __version__
from leaderboard.services.bundles.citations import TaskCitation, spdx
from leaderboard.services.bundles.records import TABLES
from leaderboard.services.bundles.writing import SUMS

CRATE, HEAD, README = "ro-crate-metadata.json", "bundle.json", "README.md"
FORM, VERSION = "leaderboard task bundle", 1

FILES = {
    README: "This text.",
    HEAD: "Which program wrote the bundle and when, for the program that reads it back.",
    SUMS: f"SHA-256 of every other file; check them with `sha256sum -c {SUMS}`.",
    CRATE: "The same description for programs (RO-Crate 1.1).",
    "CITATION.cff": "How to cite the task (Citation File Format 1.2.0).",
    "citation.bib": "The same as BibTeX.",
    "datacite.json": "The same as DataCite metadata, to register a DOI with.",
    "topics.tsv": "Topic id and title, separated by a tab, as most programs read topics.",
    "qrels/": "Judgments of every revision as TREC qrels: topic, subtopic or 0, docno, grade. Files are "
    "named LINE-NAME-REVISION; preferences are JSON, one a line; distractors one docno a line; of documents "
    "left out topic and docno a line. Nuggets and labels of answers are one JSON object, where a run is its "
    "ranking_sha256; so is a reference that judges are held against, with its values by run and topic.",
    "runs/": "Run files: topic, Q0, docno, rank, score, tag; of answers JSON, one a line; of judges their "
    "boards or labels. Compressed where they came so.",
    "judges/": "Of judges who sent labels: what counts of labels of answers, and the board that labels made "
    "by scoring the runs of the reference, as JSON.",
    "pools/": "The documents of each pool in judging order, as JSON lines: priority, stratum, probability.",
    "pictures/": "The task's logo and picture.",
    "snapshots/": "Boards as they were frozen, as JSON; run_id is the id of a run in the bundle.",
    "scores/board": "The board of each phase: ranks, scores, which runs may be the best; as a table too.",
    "scores/topics.csv": "What each run got on each topic by each measure, at full precision.",
    **{table.path: table.what for table in TABLES},
}
"""What each file or folder holds."""
LEFT_OUT = (
    "accounts, passwords, mail addresses, tokens, links and who did what",
    "the code by which teams enter, and webhooks",
    "rejected files, files that were still being checked, drafts of judgments",
    "query logs (the preferences made of them are among the judgments)",
    "the texts of the collection's documents",
    "suites that the task is a member of, and which runs of other tasks its runs replicate",
)
"""What a bundle never has."""
UNTOLD = (
    "what only organisers see: reports of files, settings of sending, who entered",
    "labels, pools, news, snapshots",
    "withdrawn runs, and files of runs whose teams go by a pseudonym: their rankings are here",
    "accounts, and the texts of the collection's documents",
)
"""What a bundle for everybody has not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BundleHead:
    """What is said of a bundle as a whole."""

    citation: TaskCitation
    made_at: str
    """'' where it is not told, so that the same task gives the same bytes."""
    is_release: bool
    is_public: bool = False
    """Whether it holds what every visitor reads, and no more."""

    def text(self) -> str:
        """The head as the program reads it back."""
        facts = {
            "form": FORM,
            "version": VERSION,
            "program": __version__,
            "made_at": self.made_at or None,
            "slug": self.citation.slug,
            "pseudonyms": self.is_release,
        }
        return json.dumps(facts, indent=2) + "\n"


def readme(head: BundleHead, paths: Iterable[str]) -> str:
    """The README: what each file is, how files refer to each other, what is missing, how to read it back."""
    of = head.citation
    there = list(paths)
    files = [f"- `{path}`: {what}" for path, what in FILES.items() if _is_there(path, there)]
    named = (
        "Teams, runs and people go by pseudonyms here; the map that leads back is kept apart. What teams "
        "said of themselves and of their runs is left out, so are pictures and snapshots; each run's tag is "
        "its name."
        if head.is_release
        else "Run files are byte for byte as they were sent. Assessors go by numbers."
    )
    written = (
        f", written {head.made_at}" if head.made_at else "; it holds what every visitor of the site reads"
    )
    return "\n".join(
        (
            f"# {of.title}",
            "",
            *((of.description.strip(), "") if of.description.strip() else ()),
            f"A shared task of information retrieval as plain files{written}.",
            *((f"Organised by {of.organisers}.",) if of.organisers else ()),
            f"Licence: {of.licence or 'not stated; ask the organisers'}.",
            "",
            "## Files",
            "",
            *files,
            "",
            "Files of `records/` have one JSON object a line. Each has an `id` in the bundle; fields that "
            "end in `_id` hold the id of a row of another file. Dates are UTC.",
            named,
            "",
            "## Not in here",
            "",
            *(f"- {what}" for what in (UNTOLD if head.is_public else LEFT_OUT)),
            "",
            "## Back into a site",
            "",
            "`leaderboard import` with this folder or archive makes the task again: every digest is checked "
            "first, then runs are scored anew.",
            "",
        )
    )


def crate(head: BundleHead, sums: Mapping[str, str], sizes: Mapping[str, int]) -> str:
    """The RO-Crate metadata; sums and sizes are those of the files written so far."""
    of = head.citation
    parts = [
        {
            "@id": path,
            "@type": "File",
            "name": path,
            "contentSize": str(sizes[path]),
            "sha256": sums[path],
            "description": next((what for start, what in FILES.items() if path.startswith(start)), path),
        }
        for path in sorted(sums)
    ]
    licence = spdx(of.licence)
    root = {
        "@id": "./",
        "@type": "Dataset",
        "name": of.title,
        "description": of.description or f"The shared task {of.title} as plain files.",
        "datePublished": f"{of.at:%Y-%m-%d}",
        "license": {"@id": f"https://spdx.org/licenses/{licence}"} if licence else of.licence or "not stated",
        "creator": {"@id": "#organisers"},
        "hasPart": [{"@id": part["@id"]} for part in parts],
        **({"url": of.address} if of.address else {}),
    }
    about = {
        "@id": CRATE,
        "@type": "CreativeWork",
        "conformsTo": {"@id": "https://w3id.org/ro/crate/1.1"},
        "about": {"@id": "./"},
    }
    by = {"@id": "#organisers", "@type": "Organization", "name": of.creator}
    graph = {"@context": "https://w3id.org/ro/crate/1.1/context", "@graph": [about, root, by, *parts]}
    return json.dumps(graph, indent=1, ensure_ascii=False) + "\n"


def _is_there(path: str, there: list[str]) -> bool:
    always = path in (README, SUMS, CRATE)
    return always or any(each.startswith(path) for each in there)
