"""Judgments and pools of a bundle, read back into what a site stores.

Runs are files as submitted. Where names are put out, their answers are written again as they count, in the
dialect `report`: other fields of a series may name a person. Judgments are the text that their digest is of.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sqlalchemy import insert
from sqlalchemy.orm import Session

from leaderboard.answers.ops import answers
from leaderboard.answers.ops.nuggets.reading import PreparedAnswers, of_answers
from leaderboard.answers.ops.nuggets.scoring import of_revision
from leaderboard.bundles.ops.checking import TaskImport, broken
from leaderboard.db.tables import PoolTopic, Qrels, QrelsRevision
from leaderboard.errors import Damaged, Invalid, Problem
from leaderboard.judging.ops.pools import previews as pool_documents
from leaderboard.judging.ops.pools.previews import PoolDocument
from leaderboard.scoring.ops.qrels import files, left_out, lines
from leaderboard.scoring.ops.qrels.files import PreparedQrels
from leaderboard.scoring.ops.qrels.left_out import LeftOutList
from leaderboard.trec.answers.check import AnswerRules
from leaderboard.trec.answers.dialects import LONGEVAL
from leaderboard.trec.answers.record import AnswerTopic, as_report
from leaderboard.trec.nuggets.packing import PackedAnswers, sha256, text
from leaderboard.trec.nuggets.texts import of_text
from leaderboard.trec.qrels.align import read_distractors
from leaderboard.trec.qrels.left_out import NOTHING, LeftOut, read_left_out
from leaderboard.trec.qrels.preferences import PreferenceJudgments
from leaderboard.trec.qrels.qrels import rounds_note
from leaderboard.trec.read.entries import ID_BYTES
from leaderboard.trec.read.lines import Limits, raw_lines
from leaderboard.trec.runs.check import Report

ENDING = ".answers.json"
"""Ending of files of answer judgments."""
MOST_BYTES = 2**30
TEAM = "-"
"""Represents the team in lines that are written again: a file is one team's, which its record names."""


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
        raise Invalid(f"{name} does not contain nuggets and labels. Download the bundle again.") from error


def run_ending(facts: Mapping[str, Any]) -> str:
    """Ending of a run's file, by the facts of its check: LongEval's is a zip."""
    return ".zip" if facts.get("dialect") == LONGEVAL.name else ".jsonl"


def anew(session: Session, run_id: int, name: str) -> Iterator[bytes]:
    """The lines of a run's answers as they count, under another name."""
    for answer in answers.of_run(session, run_id):
        yield as_report(replace(answer, run=name), TEAM).encode() + b"\n"


def public_report(facts: Mapping[str, Any]) -> dict[str, Any]:
    """The report on a file with no more than what `rules` needs, which pages of answers show."""
    kept = {name: facts[name] for name in ("dialect", "limit", "limits", "cut") if name in facts}
    unit = {"unit": facts["length"]["unit"]} if "length" in facts else {}
    return Report((), (), {**kept, "length": unit}).as_json()


def rules(topics: tuple[str, ...], facts: Mapping[str, Any]) -> AnswerRules:
    """Rules for reading the file of a run, so that its answers are those that were checked.

    facts: of the report on it, empty for lines written again. Nothing accepted then is refused.
    """
    own = facts.get("limits") or {}
    return AnswerRules(
        topics={topic: AnswerTopic(topic, (), own.get(topic)) for topic in topics},
        limit=facts.get("limit"),
        unit=(facts.get("length") or {}).get("unit"),
        over="cut" if facts.get("cut") else "warn",
        subset=True,
    )


ANY_SIZE = Limits(plain_bytes=2**40)


@dataclass(frozen=True, slots=True)
class RevisionFiles:
    """The files of a revision: judgments and what supplements them, None if absent.

    name: of the judgments in the bundle.
    """

    name: str
    judgments: Path
    distractors: Path | None
    left_out: Path | None


def add_revision(
    making: TaskImport,
    line: Qrels,
    parent: QrelsRevision | None,
    record: dict[str, Any],
    paths: RevisionFiles,
) -> QrelsRevision:
    """Store a revision with the judgments of its file, and what others hold that stands next to them.

    Its digest is the one on record where that is of one file; where it is of all that scores rest on, it is
    computed again. Raises Invalid where the file holds other topics or another number than its record says.
    """
    others = paths.distractors
    if line.kind == "board" and (others or paths.left_out):
        raise Invalid(f"A reference such as {paths.name} must be the only file. Download the bundle again.")
    prepared = _reference(making, paths, record) if line.kind == "board" else _prepared(paths, line.kind)
    facts = {"topics": prepared.topics, "judgments": prepared.size}
    for name, count in facts.items():
        if record[name] != count:
            raise Invalid(
                f"The judgments in {paths.name} differ from their revision: {name}. Download the bundle "
                "again."
            )
    recorded = {name: record.get(name, "") for name in ("sha256", "file_name")}
    read_as = tuple(map(Problem, record.get("read_as", ())))
    if record.get("rounds"):
        read_as = (rounds_note(str(record["rounds"])),)
    if line.kind == "board":
        # It was compared; under other names of runs it is another one.
        recorded["sha256"] = prepared.sha256
    if line.kind == "answers" and recorded["sha256"] != prepared.sha256:
        raise Invalid(f"{paths.name} does not match the digest of its revision. Download the bundle again.")
    distractors = read_distractors(others, ANY_SIZE) if others is not None else ()
    leaves = _left_out(paths.left_out, record)
    left_out.require_fitting(LeftOutList(leaves), prepared.judgments, leaves.by_topic)
    judged = replace(prepared, **recorded, warnings=read_as)
    note = record.get("note", "")
    revision = lines.add(
        making.session, making.viewer, line, parent, judged, note, distractors, leaves=leaves
    )
    if revision.number != record["number"]:
        raise Invalid(
            f"number: Revision {record['number']} of the judgment series {line.name} follows "
            f"{revision.number - 1}."
        )
    revision.created_at = record["created_at"]
    return revision


def _left_out(path: Path | None, record: dict[str, Any]) -> LeftOut:
    """Documents that a revision leaves out; raises Invalid where its record disagrees."""
    facts = record.get("left_out_facts")
    if path is None or not isinstance(facts, dict):
        if path is not None or facts:
            raise Invalid(
                "A revision lacks its left-out documents or their description. Download the bundle again."
            )
        return NOTHING
    by_topic = read_left_out([path], limits=ANY_SIZE).by_topic
    rounds, repeated = facts.get("rounds", []), facts.get("repeated", 0)
    if not isinstance(rounds, list) or not all(isinstance(number, int) for number in [*rounds, repeated]):
        raise Invalid(
            "The description of left-out documents in a revision is not valid. Download the bundle again."
        )
    return LeftOut(by_topic, bool(facts.get("residual")), repeated, tuple(rounds))


def add_pool(session: Session, pool_id: int, name: str, path: Path) -> None:
    """Store the documents of a pool; raises Invalid with the line at fault."""
    for topic, to_judge, rows in _pool(name, path):
        session.execute(
            insert(PoolTopic),
            [
                {
                    "pool_id": pool_id,
                    "topic_id": topic,
                    "documents": to_judge,
                    "body": pool_documents.pack(rows),
                }
            ],
        )


def _reference(making: TaskImport, paths: RevisionFiles, record: dict[str, Any]) -> PreparedQrels:
    from leaderboard.judges.ops import imported as of_judges

    return of_judges.reference(
        making.session,
        making.viewer,
        making.owner,
        of_judges.BundleText(paths.name, paths.judgments),
        record["sha256"],
        making.request.names,
    )


def _prepared(paths: RevisionFiles, kind: str) -> PreparedQrels:
    path = paths.judgments
    if kind == "answers":
        return read_judgments(path, paths.name)
    if kind == "preference":
        return files.of_preferences(PreferenceJudgments(_pairs(path)), path.name)
    return files.prepare(path, second="subtopics" if kind == "subtopic" else "rounds")


def _pairs(path: Path) -> dict[str, dict[str, dict[tuple[bytes, bytes], float]]]:
    pairs: dict[str, dict[str, dict[tuple[bytes, bytes], float]]] = {}
    for number, row in _objects(path.name, path):
        try:
            own = pairs.setdefault(_word(row["topic"]), {}).setdefault(str(row["judge"]), {})
            if "better" in row:
                own[_word(row["better"]).encode(), _word(row["worse"]).encode()] = float(row["weight"])
        except (KeyError, TypeError, ValueError):
            rule = "A preference needs topic, judge, better, worse and weight."
            raise broken(path.name, number, rule) from None
    return pairs


def _pool(name: str, path: Path) -> Iterator[tuple[str, int, list[PoolDocument]]]:
    topic, to_judge, rows = "", 0, list[PoolDocument]()
    for number, row in _objects(name, path):
        try:
            if "to_judge" in row:
                if topic:
                    yield topic, to_judge, rows
                topic, to_judge, rows = _word(row["topic"]), int(row["to_judge"]), []
            elif row.pop("topic") == topic:
                row["docno"] = _word(row["docno"])
                rows.append(PoolDocument(**row))
        except (KeyError, TypeError, ValueError):
            raise broken(
                name, number, "Every line must be a topic of the pool or one of its documents."
            ) from None
    if topic:
        yield topic, to_judge, rows


def _objects(name: str, path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, line in raw_lines(path, ANY_SIZE):
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            row = None
        if not isinstance(row, dict):
            raise broken(name, number, "Every line must be one JSON object.")
        yield number, row


def _word(value: object) -> str:
    """A topic or docno; raises ValueError for anything that is not one word."""
    if not isinstance(value, str) or len(value.split()) != 1 or len(value.encode()) > ID_BYTES:
        raise ValueError("must be one word")
    return value
