"""Files of answers scored by judgments of answers, one run after the other."""

import json
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, TypeVar

import numpy as np

from leaderboard.errors import MAX_PROBLEMS, Invalid, LeaderboardError, MissingInput, Problem
from leaderboard.measures.answers.record import Basis
from leaderboard.measures.answers.registry import NAMES, parse
from leaderboard.measures.binding import BoundMeasure
from leaderboard.measures.judged import FloatArray
from leaderboard.trec.answers.check import AnswerRules, check_answers
from leaderboard.trec.answers.record import Answer
from leaderboard.trec.nuggets.assignments import read_assignments
from leaderboard.trec.nuggets.judgments import AnswerJudgments, notes_on, notes_on_run
from leaderboard.trec.nuggets.sets import read_argued, read_nuggets
from leaderboard.trec.nuggets.support import read_support

Missing = Literal["mean-of-present", "zero", "error"]
Read = TypeVar("Read")

DEFAULTS: tuple[tuple[Basis, tuple[str, ...]], ...] = (
    ("nuggets", ("V_strict", "A", "W")),
    ("support", ("SupportP", "SupportR")),
    ("nuggets and sentences", ("ArgueF1", "NuggetCoverage")),
    ("sentences", ("SentenceSupport", "CitationSupport", "CitationRelevance")),
    ("answers", ("AnswerLength", "NumSegments", "NumCitations")),
)
"""The default measures, limited to those with judgments."""
_NEEDED: dict[Basis, str] = {
    "nuggets": "assignments (--assignments), or a nugget set and Auto-ARGUE's judgments (--nuggets, --argue)",
    "support": "support labels (--support)",
    "sentences": "Auto-ARGUE's judgments (--argue)",
    "nuggets and sentences": "a nugget set and Auto-ARGUE's judgments (--nuggets, --argue)",
}


@dataclass(frozen=True, slots=True)
class JudgmentFiles:
    """Files of judgments of answers, None if absent."""

    nuggets: Path | None = None
    assignments: Path | None = None
    support: Path | None = None
    argue: Path | None = None


@dataclass(frozen=True, eq=False)
class AnswerScores:
    """One run's scores: per measure its topics and float64 (topics,), nan where unjudged.

    parts: what an aggregate is made from, float64 (k, topics), for the measures that have any. zeros:
    unjudged ones count as 0, as in programs that leave no topic out.
    """

    run: str
    topics: dict[BoundMeasure, tuple[str, ...]]
    scores: dict[BoundMeasure, FloatArray]
    parts: dict[BoundMeasure, FloatArray] = field(default_factory=dict)
    notes: tuple[Problem, ...] = ()
    zeros: bool = False

    def judged(self, measure: BoundMeasure) -> int:
        """On how many of its topics the run was judged."""
        return int(np.count_nonzero(~np.isnan(self.scores[measure])))

    def values(self, measure: BoundMeasure) -> FloatArray:
        """The scores to be shown, float64 (topics,): nan where unjudged, or 0 if requested."""
        scores = self.scores[measure]
        return np.nan_to_num(scores) if self.zeros else scores

    def aggregate(self, measure: BoundMeasure) -> float | None:
        """The measure's one number over the topics that count, None if absent."""
        scores, parts = self.values(measure), self.parts.get(measure)
        counts = ~np.isnan(scores)
        if not counts.any():
            return None
        # Unjudged items add nothing to a sum over topics, but their part of the divisor is known.
        return measure.aggregate(scores[counts], None if parts is None else np.nan_to_num(parts[:, counts]))


def read_judgments(files: JudgmentFiles) -> AnswerJudgments:
    """The judgments in the files; raises Invalid with the name of the one that cannot be read."""
    if files.assignments and files.argue:
        raise Invalid("Assignments and Auto-ARGUE's judgments both label nuggets; give one of the two.")
    judgments = AnswerJudgments()
    if files.nuggets:
        judgments = replace(judgments, nuggets=_read(read_nuggets, files.nuggets))
    if files.assignments:
        nugget_set = judgments.nuggets if files.nuggets else None
        assignments = _read(lambda path: read_assignments(path, nugget_set), files.assignments)
        judgments = replace(judgments, nuggets=assignments.nuggets, assignments=assignments)
    if files.support:
        judgments = replace(judgments, support=_read(read_support, files.support))
    if files.argue:
        judgments = replace(judgments, argued=_read(read_argued, files.argue))
    return judgments


def score_answers(
    judgments: AnswerJudgments, runs: Iterable[Path], names: Sequence[str], missing: Missing
) -> tuple[list[AnswerScores], tuple[Problem, ...]]:
    """The scores of every run, in order, and notes on the judgments.

    names: of measures, empty for those that the judgments allow. Raises Invalid for a file that cannot be
    read, a run that comes twice and, where missing is `error`, unjudged cells; MissingInput for a
    measure without its judgments; UnknownMeasure.
    """
    measures = _measures(judgments, names)
    scored: list[AnswerScores] = []
    for path in runs:
        run, answers = _read(read_answers, path)
        if any(run == earlier.run for earlier in scored):
            raise Invalid(f"{path}: run {run} is in an earlier file; give each run once.")
        scored.append(_scores(judgments, run, answers, measures))
    if missing == "error":
        _require_judged(scored)
    scored = [
        replace(run_scores, notes=(*run_scores.notes, *_unjudged(run_scores, missing)))
        for run_scores in scored
    ]
    if missing == "zero":
        scored = [replace(run_scores, zeros=True) for run_scores in scored]
    return scored, tuple(notes_on(judgments, [run_scores.run for run_scores in scored]))


def _measures(judgments: AnswerJudgments, names: Sequence[str]) -> list[BoundMeasure]:
    if not names:
        names = [name for basis, group in DEFAULTS if judgments.has(basis) for name in group]
    measures = list(dict.fromkeys(map(parse, names)))
    for measure in measures:
        basis = NAMES[measure.measure.name].basis
        if not judgments.has(basis):
            raise MissingInput(f"{measure.key} needs {_NEEDED[basis]}.", need=basis)
    return measures


def _scores(
    judgments: AnswerJudgments, run: str, answers: dict[str, Answer], measures: list[BoundMeasure]
) -> AnswerScores:
    topics, scores, parts = {}, {}, {}
    for measure in measures:
        over = judgments.topics(NAMES[measure.measure.name].basis, list(answers))
        seen = [judgments.seen(run, topic, answers.get(topic)) for topic in over]
        topics[measure] = over
        scores[measure] = measure.measure.compute(seen, **measure.params)
        if measure.measure.parts is not None:
            parts[measure] = measure.measure.parts(seen, **measure.params)
    return AnswerScores(run, topics, scores, parts, tuple(notes_on_run(judgments, run, answers)))


def _unjudged(run_scores: AnswerScores, missing: Missing) -> Iterator[Problem]:
    """Measures that a run was not judged by on all of its topics, and what becomes of the others."""
    fate = "count as 0" if missing == "zero" else "are left out"
    for measure, topics in run_scores.topics.items():
        judged = run_scores.judged(measure)
        if judged < len(topics):
            rule = f"Run {run_scores.run} is judged on {judged:,} of {len(topics):,} topics by {measure.key}"
            yield Problem(f"{rule}; the others {fate}.")


def _require_judged(scored: list[AnswerScores]) -> None:
    cells = [
        Problem(f"Run {run_scores.run} is not judged on topic {topic} by {measure.key}.")
        for run_scores in scored
        for measure, scores in run_scores.scores.items()
        for topic, score in zip(run_scores.topics[measure], scores.tolist(), strict=True)
        if np.isnan(score)
    ]
    if cells:
        raise Invalid(
            f"Cells of runs and topics that are not judged: {len(cells):,}. Judge them, or use --missing "
            "mean-of-present or zero.",
            cells[:MAX_PROBLEMS],
        )


def _read(reader: Callable[[Path], Read], path: Path) -> Read:
    """The result of reading a file; errors name the file."""
    try:
        return reader(path)
    except LeaderboardError as error:
        problems = error.problems if isinstance(error, Invalid) else ()
        raise Invalid(f"{path}: {error.message}", problems) from error


def read_answers(path: Path, rules: AnswerRules | None = None) -> tuple[str, dict[str, Answer]]:
    """A file's run, and its answers by topic in the file's order, without their line numbers.

    Nothing is cut or refused for its length unless the rules say so. Raises Invalid with the check's errors.
    """
    answers: dict[str, Answer] = {}

    def keep(answer: Answer) -> None:
        answers[answer.topic] = replace(answer, line="")

    report = check_answers(path, rules or AnswerRules(over="warn", subset=True), keep)
    if report.problems:
        raise Invalid("The answers cannot be read.", report.problems)
    return next(iter(answers.values())).run, answers


NOT_JUDGED = "not_judged"
"""The text in place of an unjudged score; null in JSON."""


def trec(scored: Iterable[AnswerScores], *, per_topic: bool = False) -> Iterator[str]:
    """Lines of name, topic and value in four decimals; the topic `all` for the mean."""
    for run_scores in scored:
        if per_topic:
            for measure, topic, score in _cells(run_scores):
                yield _line(measure.key, topic, _rounded(measure, score))
        yield _line("runid", "all", run_scores.run)
        yield _line("num_q", "all", str(len(set().union(*run_scores.topics.values()))))
        for measure in run_scores.scores:
            yield _line(measure.key, "all", _rounded(measure, run_scores.aggregate(measure), 4))


def tsv(scored: Iterable[AnswerScores], *, per_topic: bool = False) -> Iterator[str]:
    """A heading and one line per score: run, measure, topic (`all` for the mean), value in full."""
    yield "run\tmeasure\ttopic\tvalue\n"
    for run_scores in scored:
        if per_topic:
            for measure, topic, score in _cells(run_scores):
                yield f"{run_scores.run}\t{measure.key}\t{topic}\t{_full(score)}\n"
        for measure in run_scores.scores:
            yield f"{run_scores.run}\t{measure.key}\tall\t{_full(run_scores.aggregate(measure))}\n"


def as_json(scored: Sequence[AnswerScores], missing: Missing, *, per_topic: bool = False) -> str:
    """One JSON object: for every run its scores by measure, and on how many of how many topics each rests."""
    runs = [_run_object(run_scores, per_topic) for run_scores in scored]
    data = {"kind": "answers", "missing": missing, "runs": runs}
    return json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _run_object(run_scores: AnswerScores, per_topic: bool) -> dict[str, object]:
    data: dict[str, object] = {
        "run": run_scores.run,
        "scores": {measure.key: run_scores.aggregate(measure) for measure in run_scores.scores},
        "judged": {measure.key: run_scores.judged(measure) for measure in run_scores.scores},
        "topics": {measure.key: len(topics) for measure, topics in run_scores.topics.items()},
    }
    if per_topic:
        cells: dict[str, dict[str, float | None]] = {}
        for measure, topic, score in _cells(run_scores):
            cells.setdefault(topic, {})[measure.key] = None if math.isnan(score) else score
        data["per_topic"] = cells
    return data


def _cells(run_scores: AnswerScores) -> Iterator[tuple[BoundMeasure, str, float]]:
    for measure, topics in run_scores.topics.items():
        for topic, score in zip(topics, run_scores.values(measure).tolist(), strict=True):
            yield measure, topic, score


def _line(name: str, topic: str, value: str) -> str:
    return f"{name:<22}\t{topic}\t{value}\n"


def _rounded(measure: BoundMeasure, score: float | None, digits: int | None = None) -> str:
    if score is None or math.isnan(score):
        return NOT_JUDGED
    return f"{score:.{measure.measure.digits if digits is None else digits}f}"


def _full(score: float | None) -> str:
    return NOT_JUDGED if score is None or math.isnan(score) else repr(score)
