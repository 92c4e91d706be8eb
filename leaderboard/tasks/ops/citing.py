"""Citations of a task: CITATION.cff, BibTeX and DataCite metadata; and as Hugging Face lists benchmarks."""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy.orm import Session

from leaderboard.core import policy
from leaderboard.core.policy import Viewer
from leaderboard.db.tables import Task
from leaderboard.tables.yaml import yaml_text

FRAMEWORK = "ir-leaderboard"
"""The name of this program as an evaluation framework."""
_SPDX = re.compile(r"[A-Za-z0-9.+-]+")
_CC = re.compile(r"CC[ -](BY(?:-(?:SA|NC|ND|NC-SA|NC-ND))?|0)[ -]?(\d\.\d)?", re.IGNORECASE)
_BIBTEX = str.maketrans({letter: f"\\{letter}" for letter in "&%$#_{}"} | {"\\": r"\textbackslash{}",
                        "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"})  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskCitation:
    """The citation data of a task; at: its publication date, else its creation date."""

    slug: str
    title: str
    organisers: str
    licence: str
    description: str
    address: str
    at: datetime

    @property
    def creator(self) -> str:
        """The creator as given by the organisers, or else "the organisers"."""
        return self.organisers or f"The organisers of {self.title}"


def cff(of: TaskCitation) -> str:
    """The citation as CITATION.cff; its strings are JSON strings, which are valid YAML.

    https://github.com/citation-file-format/citation-file-format/blob/1.2.0/schema-guide.md
    """
    lines = {
        "cff-version": "1.2.0",
        "message": "If you use this task, please cite it as below.",
        "type": "dataset",
        "title": of.title,
        "date-released": f"{of.at:%Y-%m-%d}",
    }
    if of.address:
        lines["url"] = of.address
    if licence := spdx(of.licence):
        lines["license"] = licence
    written = [f"{key}: {_quoted(value)}" for key, value in lines.items()]
    return "\n".join((*written, "authors:", f"  - name: {_quoted(of.creator)}", ""))


def bibtex(of: TaskCitation) -> str:
    """The citation as an entry of BibTeX."""
    fields = {
        "title": f"{{{_tex(of.title)}}}",
        "author": f"{{{_tex(of.creator)}}}",
        "year": str(of.at.year),
        "howpublished": f"\\url{{{of.address}}}" if of.address else "",
        "note": _tex(f"Licence: {of.licence}") if of.licence else "",
    }
    lines = [f"  {key} = {{{value}}}," for key, value in fields.items() if value]
    return "\n".join((f"@misc{{{of.slug},", *lines, "}", ""))


def datacite(of: TaskCitation) -> str:
    """The citation as DataCite's metadata in JSON, without a DOI, which is assigned at registration.

    https://schema.datacite.org/meta/kernel-4.6/
    """
    facts = {
        "creators": [{"name": of.creator, "nameType": "Organizational"}],
        "titles": [{"title": of.title}],
        "publisher": {"name": of.creator},
        "publicationYear": of.at.year,
        "types": {"resourceTypeGeneral": "Dataset", "resourceType": "Shared task of information retrieval"},
        "dates": [{"date": f"{of.at:%Y-%m-%d}", "dateType": "Issued"}],
        "descriptions": [{"description": of.description, "descriptionType": "Abstract"}]
        if of.description
        else [],
        "rightsList": [{"rights": of.licence}] if of.licence else [],
        "url": of.address or None,
        "schemaVersion": "http://datacite.org/schema/kernel-4",
    }
    return json.dumps(facts, indent=2, ensure_ascii=False) + "\n"


FORMS: Mapping[str, tuple[str, str, Callable[[TaskCitation], str]]] = {
    "cff": ("CITATION.cff", "Citation File Format", cff),
    "bib": ("citation.bib", "BibTeX", bibtex),
    "json": ("datacite.json", "DataCite", datacite),
}
"""Ending of its address -> name of the file, of the form, and what writes it."""


def hub_benchmark(of: TaskCitation) -> str:
    """The task as `eval.yaml`, which makes a data set of Hugging Face a benchmark.

    https://huggingface.co/docs/hub/eval-results. Its task is named by the slug; the data set there has one
    configuration and one split.
    """
    return yaml_text(
        {
            "name": of.title,
            "description": of.description or f"{of.title}, a shared task in information retrieval.",
            "evaluation_framework": FRAMEWORK,
            "tasks": [{"id": of.slug, "config": "default", "split": "test"}],
        }
    )


def spdx(licence: str) -> str:
    """The identifier of a licence in SPDX's list where one is clearly meant, else ''.

    >>> spdx("CC BY 4.0"), spdx("CC0"), spdx("Apache-2.0"), spdx("for research only")
    ('CC-BY-4.0', 'CC0-1.0', 'Apache-2.0', '')
    """
    if licence.strip().upper().startswith("CC0"):
        return "CC0-1.0"
    if match := _CC.fullmatch(licence.strip()):
        kind, version = match[1].upper(), match[2]
        if kind == "0":
            return "CC0-1.0"
        return f"CC-{kind}-{version}" if version else ""
    is_one = _SPDX.fullmatch(licence.strip()) and any(letter.isdigit() for letter in licence)
    return licence.strip() if is_one else ""


def _quoted(text: str) -> str:
    return json.dumps(" ".join(text.split()), ensure_ascii=False)


def _tex(text: str) -> str:
    return " ".join(text.split()).translate(_BIBTEX)


def citation(session: Session, viewer: Viewer, slug: str, site: str = "") -> TaskCitation:
    """The citation of a task visible to the viewer; site: the site's address, '' for none."""
    return citation_of(policy.task_context(session, viewer, slug).task, site)


def citation_of(task: Task, site: str = "") -> TaskCitation:
    """The citation of a task."""
    return TaskCitation(
        slug=task.slug,
        title=task.name,
        organisers=task.organisers,
        licence=task.licence,
        description=task.description,
        address=f"{site.rstrip('/')}/tasks/{task.slug}" if site else "",
        at=task.published_at or task.created_at,
    )
