"""The upload checker: one report for the site, the interface for programs and the command line."""

import hashlib
import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from leaderboard.errors import MAX_PROBLEMS, Invalid, Problem, TooLarge
from leaderboard.trec.align import order
from leaderboard.trec.lines import DEFAULT_LIMITS, Limits, shown
from leaderboard.trec.runs import TAGS_KEPT, Ranking, Run, read_run
from leaderboard.trec.topic_names import TopicNames

MANY_TIES = 0.2
"""Share of neighbours of equal score in the sorted rankings from which a run is warned about."""
NAMED = 20
"""How many topics a message names."""
UNKNOWN_NAMED = 5
PREVIEW_LINES = 5


@dataclass(frozen=True)
class Rules:
    """What a task asks of a run.

    topics: the ids it may hold, None for any; depth: most documents a topic, None for any;
    tag_pattern: a regular expression for the whole tag, None or '' for any; unknown_docnos: those of
    its argument that are not in the collection; judged: topics with judgments, empty where none are.
    """

    topics: tuple[str, ...] | None = None
    depth: int | None = 1000
    tag_pattern: str | None = None
    unknown_docnos: Callable[[list[bytes]], list[bytes]] | None = None
    judged: Collection[str] = ()


@dataclass(frozen=True)
class Report:
    """What was found in a run file: problems reject it, warnings do not; facts describe it.

    facts, {} where the file could not be read: tag, tags, entries, topics (found), missing (number of
    topics without documents), depth {min, median, max}, ties (share), metadata (whether it has any),
    preview (first entries as read).
    """

    problems: tuple[Problem, ...] = ()
    warnings: tuple[Problem, ...] = ()
    facts: dict[str, Any] = field(default_factory=dict)

    @property
    def accepted(self) -> bool:
        """Whether the file makes a run."""
        return not self.problems

    @property
    def verdict(self) -> str:
        """The outcome in words."""
        if self.problems:
            return "rejected"
        return "accepted with warnings" if self.warnings else "accepted"

    def as_json(self) -> dict[str, Any]:
        """The report as plain values."""
        return {
            "accepted": self.accepted,
            "problems": [asdict(problem) for problem in self.problems],
            "warnings": [asdict(warning) for warning in self.warnings],
            "facts": self.facts,
        }

    @classmethod
    def from_json(cls, found: dict[str, Any]) -> "Report":
        """The report that as_json made."""
        return cls(
            tuple(Problem(**problem) for problem in found["problems"]),
            tuple(Problem(**warning) for warning in found["warnings"]),
            found["facts"],
        )


def read_and_check(path: Path, rules: Rules, limits: Limits = DEFAULT_LIMITS) -> tuple[Run | None, Report]:
    """The run in a file, None where it cannot be read, and the report; never raises Invalid or TooLarge."""
    try:
        run = read_run(path, limits=limits)
    except Invalid as error:
        return None, Report(error.problems or (Problem(error.message),))
    except TooLarge as error:
        return None, Report((Problem(error.message),))
    return run, check_run(run, rules)


def check_run(run: Run, rules: Rules) -> Report:
    """The report of a run under a task's rules, with at most 25 problems."""
    problems = [*_unknown_topics(run, rules), *_too_deep(run, rules), *_bad_tag(run, rules)]
    shares = [_tied_share(ranking) for ranking in run.rankings.values()]
    ties = float(np.mean(shares)) if shares else 0.0
    warnings = [
        *run.notes,
        *_several_tags(run),
        *_split_topics(run),
        *_missing_topics(run, rules),
        *_unjudged_topics(run, rules),
        *_equal_scores(run, ties),
        *_unknown_docnos(run, rules),
    ]
    return Report(tuple(problems[:MAX_PROBLEMS]), tuple(warnings), _facts(run, rules, ties))


def ranking_digest(run: Run) -> str:
    """A sha256, in hexadecimal, of the topics in byte order and their docnos in trec_eval's order.

    Runs of one digest rank alike, whatever their scores, tags and lines.
    """
    digest = hashlib.sha256()
    for topic in sorted(run.rankings, key=lambda each: each.encode("utf-8", "surrogateescape")):
        ranking = run.rankings[topic]
        digest.update(topic.encode("utf-8", "surrogateescape") + b"\n")
        digest.update(b"\t".join(ranking.docnos[order(ranking, 10)].tolist()) + b"\n")
    return digest.hexdigest()


def _unknown_topics(run: Run, rules: Rules) -> Iterator[Problem]:
    """A problem for each topic outside the task, or outside all judgments where the topics are not known."""
    known: Collection[str] | None = rules.topics
    if known is None:
        known = rules.judged if rules.judged and not set(rules.judged) & run.rankings.keys() else None
    if known is None:
        return
    names = TopicNames(known)
    owner = "The task" if rules.topics is not None else "The qrels file"
    for topic in run.rankings:
        if topic not in names:
            meant = names.meant(topic)
            remedy = (
                f"Did you mean {shown(meant)}?" if meant else f"Its topics are such as {names.examples()}."
            )
            line = run.first_lines.get(topic)
            yield Problem(f"{owner} has no such topic.", remedy, line, "topic", shown(topic))


def _too_deep(run: Run, rules: Rules) -> Iterator[Problem]:
    for topic, ranking in run.rankings.items():
        count = len(ranking.docnos)
        if rules.depth is not None and count > rules.depth:
            rule = f"The topic has {count:,} documents; the task takes at most {rules.depth:,}."
            remedy = f"Keep the {rules.depth:,} best."
            yield Problem(rule, remedy, run.first_lines.get(topic), "topic", shown(topic))


def _bad_tag(run: Run, rules: Rules) -> Iterator[Problem]:
    if not rules.tag_pattern or not run.tags:
        return
    rule = f"The task's tags match {rules.tag_pattern} as a whole."
    for tag in run.tags:
        try:
            fits = re.fullmatch(rules.tag_pattern, tag)
        except re.error as error:
            rule = f"The task's tag rule {rules.tag_pattern!r} is not a regular expression ({error})."
            yield Problem(rule, "Tell the organisers.")
            return
        if not fits:
            proposal = re.sub(r"[^A-Za-z0-9._-]+", "-", tag).strip("-._")
            remedy = "Change the sixth column."
            if re.fullmatch(rules.tag_pattern, proposal):
                remedy = f"Change the sixth column, for example to {proposal}."
            yield Problem(rule, remedy, None, "tag", shown(tag))


def _several_tags(run: Run) -> Iterator[Problem]:
    if len(run.tags) > 1:
        more = ", ..." if len(run.tags) == TAGS_KEPT else ""
        rule = f"The file has more than one tag ({', '.join(map(shown, run.tags))}{more})."
        yield Problem(rule, "The last line's is taken.", None, "tag", shown(run.tag))


def _split_topics(run: Run) -> Iterator[Problem]:
    if run.split_topics:
        rule = f"The lines of {_topics(run.split_topics)} are not all together."
        yield Problem(rule, "They were joined; check that no part is another topic's.")


def _missing_topics(run: Run, rules: Rules) -> Iterator[Problem]:
    missing = _missing(run, rules)
    if missing:
        remedy = "They score as rankings without documents."
        yield Problem(f"The run has no documents for {_topics(missing)}.", remedy)


def _unjudged_topics(run: Run, rules: Rules) -> Iterator[Problem]:
    judged = set(rules.judged)
    asked = run.rankings if rules.topics is None else run.rankings.keys() & set(rules.topics)
    unjudged = [topic for topic in run.rankings if topic in asked and topic not in judged]
    if rules.judged and unjudged:
        yield Problem(f"There are no judgments for {_topics(unjudged)}.", "They do not count in the means.")


def _equal_scores(run: Run, ties: float) -> Iterator[Problem]:
    constant = [
        topic
        for topic, ranking in run.rankings.items()
        if len(ranking.scores) > 1 and bool((ranking.scores == ranking.scores[0]).all())
    ]
    remedy = "Ties are ranked by docno, descending: give scores that say the order you mean."
    if constant:
        yield Problem(f"All documents have the same score in {_topics(constant)}.", remedy)
    if ties > MANY_TIES and len(constant) < len(run.rankings):
        yield Problem(f"{ties:.1%} of neighbouring documents have equal scores.", remedy)


def _unknown_docnos(run: Run, rules: Rules) -> Iterator[Problem]:
    if rules.unknown_docnos is None:
        return
    count, sample = 0, list[str]()
    for ranking in run.rankings.values():
        unknown = rules.unknown_docnos(ranking.docnos.tolist())
        count += len(unknown)
        sample.extend(map(shown, unknown[: UNKNOWN_NAMED - len(sample)]))
    if count:
        rule = f"The collection does not have the documents of {count:,} of {run.entries:,} entries"
        remedy = "They count as not relevant; check that the run is of this collection."
        yield Problem(f"{rule} (for example {', '.join(sample)}).", remedy)


def _missing(run: Run, rules: Rules) -> list[str]:
    expected = rules.topics if rules.topics is not None else sorted(rules.judged)
    return [topic for topic in expected if topic not in run.rankings]


def _topics(topics: Collection[str]) -> str:
    named = ", ".join(shown(topic) for topic in list(topics)[:NAMED])
    rest = f" and {len(topics) - NAMED:,} more" if len(topics) > NAMED else ""
    return f"{len(topics):,} {'topic' if len(topics) == 1 else 'topics'} ({named}{rest})"


def _tied_share(ranking: Ranking) -> float:
    ordered = np.sort(ranking.scores)
    return float((ordered[1:] == ordered[:-1]).mean()) if len(ordered) > 1 else 0.0


def _facts(run: Run, rules: Rules, ties: float) -> dict[str, Any]:
    counts = [len(ranking.docnos) for ranking in run.rankings.values()]
    return {
        "tag": shown(run.tag),
        "tags": [shown(tag) for tag in run.tags],
        "entries": run.entries,
        "topics": len(run.rankings),
        "missing": len(_missing(run, rules)),
        "depth": {"min": min(counts), "median": float(np.median(counts)), "max": max(counts)},
        "ties": ties,
        "metadata": bool(run.metadata),
        "preview": [list(entry) for entry in _preview(run)],
    }


def _preview(run: Run) -> Iterator[tuple[str, str, float]]:
    ranking = next(iter(run.rankings.values()))
    for docno, score in zip(ranking.docnos[:PREVIEW_LINES], ranking.scores[:PREVIEW_LINES], strict=True):
        yield shown(ranking.topic), shown(bytes(docno)), float(score)
