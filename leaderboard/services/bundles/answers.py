"""Answers and their judgments in a bundle; loaded for tasks of answers only.

Runs are files as they were sent. Where names are put out, their answers are written anew as they count, in
the dialect `report`: what else a line says may name somebody. Judgments are the text that their digest is of.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from sqlalchemy.orm import Session

from leaderboard.errors import Damaged, Invalid
from leaderboard.services.answers import store
from leaderboard.services.nuggets.prepared import PreparedAnswers, of_answers
from leaderboard.services.nuggets.stored import of_revision
from leaderboard.trec.answers.check import AnswerRules
from leaderboard.trec.answers.dialects import LONGEVAL
from leaderboard.trec.answers.topics import AnswerTopic
from leaderboard.trec.answers.writing import as_report
from leaderboard.trec.nuggets.packing import PackedAnswers, sha256, text
from leaderboard.trec.nuggets.texts import of_text
from leaderboard.trec.runs.reports import Report

ENDING = ".answers.json"
"""How files of judgments of answers end."""
MOST_BYTES = 2**30
TEAM = "-"
"""Stands for the team in lines that are written anew: a file is one team's, which its record names."""


def judgments(session: Session, revision_id: int, hides: Callable[[str], str] | None) -> bytes:
    """The judgments of a revision as one text; with hides, names are put out and notes left out."""
    return text(_hidden(session, revision_id, hides))


def digest(session: Session, revision_id: int, hides: Callable[[str], str]) -> str:
    """The digest of the judgments in that text."""
    return sha256(_hidden(session, revision_id, hides))


def _hidden(session: Session, revision_id: int, hides: Callable[[str], str] | None) -> PackedAnswers:
    whole = of_revision(session, revision_id)
    if hides is None:
        return whole
    made_by = {part: replace(maker, name=hides(maker.name)) for part, maker in whole.made_by.items()}
    return replace(whole, made_by=made_by, notes=())


def read_judgments(path: Path, name: str) -> PreparedAnswers:
    """The judgments of a bundle's file of that name, prepared; raises Invalid for what no program wrote."""
    try:
        if path.stat().st_size > MOST_BYTES:
            raise ValueError
        return of_answers(of_text(path.read_bytes()), name)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, Damaged) as error:
        raise Invalid(f"{name} does not hold nuggets and labels. Get the bundle anew.") from error


def run_ending(facts: Mapping[str, Any]) -> str:
    """How the file of a run is called, by what its check said: LongEval's is a zip."""
    return ".zip" if facts.get("dialect") == LONGEVAL.name else ".jsonl"


def anew(session: Session, run_id: int, name: str) -> Iterator[bytes]:
    """The lines of a run's answers as they count, under another name."""
    for answer in store.of_run(session, run_id):
        yield as_report(replace(answer, run=name), TEAM).encode() + b"\n"


def told(facts: Mapping[str, Any]) -> dict[str, Any]:
    """The report on a file with no more than what `rules` needs, which pages of answers show."""
    kept = {name: facts[name] for name in ("dialect", "limit", "limits", "cut") if name in facts}
    unit = {"unit": facts["length"]["unit"]} if "length" in facts else {}
    return Report((), (), {**kept, "length": unit}).as_json()


def rules(topics: tuple[str, ...], facts: Mapping[str, Any]) -> AnswerRules:
    """What the file of a run is read by, so that its answers are those that were checked.

    facts: of the report on it, empty for lines written anew. Nothing is refused that was taken then.
    """
    own = facts.get("limits") or {}
    return AnswerRules(
        topics={topic: AnswerTopic(topic, (), own.get(topic)) for topic in topics},
        limit=facts.get("limit"),
        unit=(facts.get("length") or {}).get("unit"),
        over="cut" if facts.get("cut") else "warn",
        subset=True,
    )
