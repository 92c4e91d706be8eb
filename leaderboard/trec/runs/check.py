"""The upload checker: one report for the site, the interface for programs and the command line."""

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from leaderboard.errors import MAX_PROBLEMS, Invalid, Problem, TooLarge
from leaderboard.measures.judged import IntArray
from leaderboard.trec.read.columns import Int32
from leaderboard.trec.read.kernel import Block, Consumer
from leaderboard.trec.read.lines import DEFAULT_LIMITS, Limits, Source, shown, text_of
from leaderboard.trec.read.oddities import TAGS_KEPT
from leaderboard.trec.read.scanning import Scanned, scan_run
from leaderboard.trec.topics.records import TopicNames

EXAMPLES = 5
"""Values named by a problem that covers several."""
_VARYING = re.compile(r"\S*\d\S*")


@dataclass(frozen=True)
class Report:
    """The report on a run file: problems reject it, warnings do not; facts describe it.

    facts, {} where the file was not read to its end: tag, tags, entries, topics (found), missing (number of
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
    def fixes(self) -> tuple[str, ...]:
        """The names of the fixes that apply to the file, those of problems first."""
        fixes = (problem.fix for problem in (*self.problems, *self.warnings))
        return tuple(dict.fromkeys(name for name in fixes if name))

    @property
    def verdict(self) -> str:
        """The outcome as text."""
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
    def from_json(cls, stored: dict[str, Any]) -> "Report":
        """The report that as_json made."""
        return cls(
            tuple(map(_problem, stored["problems"])),
            tuple(map(_problem, stored["warnings"])),
            stored["facts"],
        )


def _problem(stored: dict[str, Any]) -> Problem:
    return Problem(**{**stored, "examples": tuple(stored.get("examples", ()))})


def grouped(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """One problem for all that differ in lines, values and numbers only, in the order of the first of each.

    >>> [str(one) for one in grouped([Problem("Bad.", line=1), Problem("Bad.", line=2)])]
    ['line 1: Bad. (and 1 more like it)']
    """
    kinds: defaultdict[tuple[str, str, str], list[Problem]] = defaultdict(list)
    for problem in problems:
        kinds[problem.field, _VARYING.sub("#", problem.rule), problem.fix].append(problem)
    return tuple(map(_one_for, kinds.values()))


def _one_for(alike: list[Problem]) -> Problem:
    if len(alike) == 1:
        return alike[0]
    values = dict.fromkeys(problem.value for problem in alike if problem.value)
    return replace(alike[0], count=sum(problem.count for problem in alike), examples=tuple(values)[:EXAMPLES])


MANY_TIES = 0.2
"""Share of neighbours of equal score in the sorted rankings from which a run is warned about."""
NAMED = 20
"""Maximum number of topics that a message names."""
MOST_REFUSED = 10_000
"""Topics that break a rule up to which a file is read on, to count them; the largest tasks have 7,000."""
UNKNOWN_NAMED = 5
PREVIEW_LINES = 5

UnknownDocnos = Callable[[bytes | bytearray, Int32, Int32], IntArray]


@dataclass(frozen=True)
class Rules:
    """The rules of a task for a run.

    topics: the ids it may hold, None for any; depth: most documents per topic, None for any; tag_pattern: a
    regular expression for the whole tag, None or '' for any; unknown_docnos: takes a buffer and the positions
    of docnos in it, returns those of docnos not in the collection; judged: topics with judgments, empty if
    there are none; scored: those of the topics that count, None for all of them; dialect: the version of
    trec_eval, which says whether a line may begin with `#`.
    """

    topics: tuple[str, ...] | None = None
    depth: int | None = 1000
    tag_pattern: str | None = None
    unknown_docnos: UnknownDocnos | None = None
    judged: Collection[str] = ()
    scored: Collection[str] | None = None
    dialect: int = 10

    @property
    def expected(self) -> Collection[str]:
        """The topics a run should have: those that count, or those judged where no topics are known."""
        if self.scored is not None:
            return self.scored
        return self.topics if self.topics is not None else sorted(self.judged)


def read_and_check(
    path: Source, rules: Rules, limits: Limits = DEFAULT_LIMITS, *others: Callable[[], Consumer]
) -> tuple["Scanned[Checked] | None", Report]:
    """The contents of a file, None if unreadable, and the report; never raises Invalid or TooLarge.

    others make further consumers of the run's blocks: the file is read once for all of them. Reading stops
    at 10,000 topics that the task lacks or that are too deep. Raises TooSlow beyond limits.buffer_bytes.
    """
    try:
        scanned = scan_run(
            path,
            lambda: Checked(rules, [make() for make in others]),
            strict=True,
            limits=limits,
            dialect=rules.dialect,
        )
    except Invalid as error:
        return None, Report(grouped(error.problems) or (Problem(error.message),))
    except TooLarge as error:
        return None, Report((Problem(error.message),))
    except _Enough as enough:
        return None, Report(enough.problems)
    return scanned, _report(scanned, rules)


class _Enough(Exception):
    """Enough topics break a rule, so the rest of the file need not be read."""

    def __init__(self, problems: tuple[Problem, ...]) -> None:
        super().__init__()
        self.problems = problems


class Checked:
    """The data that the checker keeps of a run's blocks, and the further consumers."""

    def __init__(self, rules: Rules, others: list[Consumer]) -> None:
        self.others = others
        self.entries = 0
        self.unknown = 0
        self.unknown_named: list[str] = []
        self.depths: dict[str, int] = {}
        self.lines: dict[str, int] = {}
        self.constant: list[str] = []
        self.preview: list[tuple[str, str, float]] = []
        self._rules = rules
        self._names = None if rules.topics is None else TopicNames(rules.topics)
        self._refused = 0
        self._tied = 0.0

    @property
    def ties(self) -> float:
        """The mean share of neighbours with equal scores in a ranking."""
        return self._tied / len(self.depths) if self.depths else 0.0

    def add(self, block: Block) -> None:
        """Take a block; raises _Enough where with it as many topics break a rule as are ever counted."""
        topics = list(map(text_of, block.topics))
        sizes = block.sizes()
        self._require_few(topics, sizes.tolist(), block.lines)
        ties = block.ties()
        self.depths.update(zip(topics, sizes.tolist(), strict=True))
        self.lines.update(zip(topics, block.lines, strict=True))
        pairs = np.maximum(sizes - 1, 1)
        self._tied = float(np.cumsum([self._tied, *(ties / pairs)])[-1])
        self.constant += [
            topics[group] for group in np.flatnonzero((sizes > 1) & (ties == sizes - 1)).tolist()
        ]
        self.entries += len(block.columns.at)
        if not self.preview:
            self.preview = _preview(block)
        if self._rules.unknown_docnos is not None:
            unknown = self._rules.unknown_docnos(block.body, block.columns.at, block.columns.length)
            self.unknown += len(unknown)
            sample = unknown[: UNKNOWN_NAMED - len(self.unknown_named)]
            self.unknown_named += [shown(block.docno(entry)) for entry in sample.tolist()]
        for other in self.others:
            other.add(block)

    def _require_few(self, topics: list[str], sizes: list[int], lines: list[int]) -> None:
        """Raise _Enough once 10,000 topics are unknown or too deep: a file may have millions of such."""
        refused = [place for place, topic in enumerate(topics) if self._is_refused(topic, sizes[place])]
        self._refused += len(refused)
        if self._refused < MOST_REFUSED:
            return
        for place in refused[:MOST_REFUSED]:
            self.depths[topics[place]], self.lines[topics[place]] = sizes[place], lines[place]
        problems = (*_unknown_topics(self, self._rules), *_too_deep(self, self._rules))
        raise _Enough(problems[:MAX_PROBLEMS])

    def _is_refused(self, topic: str, size: int) -> bool:
        is_deep = self._rules.depth is not None and size > self._rules.depth
        return is_deep or (self._names is not None and topic not in self._names)


def _report(scanned: Scanned[Checked], rules: Rules) -> Report:
    """The report of a run under a task's rules, one problem a kind and at most 25."""
    run = scanned.consumer
    tags = grouped(_bad_tag(scanned.tags, rules))
    problems = [*_unknown_topics(run, rules), *_too_deep(run, rules), *tags]
    warnings = [
        *scanned.notes,
        *_several_tags(scanned),
        *_split_topics(scanned),
        *_missing_topics(run, rules),
        *_unjudged_topics(run, rules),
        *_equal_scores(run),
        *_unknown_docnos(run),
    ]
    return Report(tuple(problems[:MAX_PROBLEMS]), tuple(warnings), _facts(scanned, rules))


def _unknown_topics(run: Checked, rules: Rules) -> Iterator[Problem]:
    """Problems of topics outside the task, or outside all judgments where the topics are not known.

    One for all that differ from the task's in the same way, one for all that match none.
    """
    task_topics: Collection[str] | None = rules.topics
    if task_topics is None:
        task_topics = rules.judged if rules.judged and not set(rules.judged) & run.depths.keys() else None
    if task_topics is None:
        return
    names = TopicNames(task_topics)
    unknown = {topic: names.meant(topic) for topic in run.depths if topic not in names}
    kinds: defaultdict[str, list[str]] = defaultdict(list)
    for topic, meant in unknown.items():
        kinds[names.difference(topic, meant) if meant else ""].append(topic)
    # Two ids of one topic cannot both be fixed.
    meant_ids = [meant for meant in unknown.values() if meant]
    is_clear = len({*meant_ids, *run.depths}) == len(meant_ids) + len(run.depths)
    fix = "topics" if is_clear else ""
    owner = "The task" if rules.topics is not None else "The qrels file"
    for difference, topics in kinds.items():
        first, meant = topics[0], unknown[topics[0]]
        rule = f"{owner} has no such topic."
        remedy = f"Did you mean {shown(meant)}?" if meant else f"Valid topic ids include {names.examples()}."
        if meant and len(topics) > 1:
            whole = "All" if len(topics) == len(run.depths) else f"Of {len(run.depths):,} topic ids"
            ids = f" {len(topics):,} topic ids" if whole == "All" else f" {len(topics):,}"
            rule, remedy = (
                f"{whole}{ids} {difference}: {shown(first)} is {shown(meant)}.",
                "Write the task's ids.",
            )
        yield _of_topics(run, topics, Problem(rule, remedy, fix=fix if meant else ""))


def _too_deep(run: Checked, rules: Rules) -> Iterator[Problem]:
    if rules.depth is None:
        return
    deep = [topic for topic, count in run.depths.items() if count > rules.depth]
    if not deep:
        return
    most = max(run.depths[topic] for topic in deep)
    what = "The topic has" if len(deep) == 1 else f"{len(deep):,} topics have up to"
    rule = f"{what} {most:,} documents; the task accepts at most {rules.depth:,}."
    yield _of_topics(run, deep, Problem(rule, f"Keep the {rules.depth:,} best.", fix="depth"))


def _of_topics(run: Checked, topics: Sequence[str], problem: Problem) -> Problem:
    """The problem of these topics: line and id of the first, the number of all, some ids."""
    some = tuple(map(shown, topics[:EXAMPLES])) if len(topics) > 1 else ()
    line = run.lines.get(topics[0])
    return replace(
        problem, line=line, field="topic", value=shown(topics[0]), count=len(topics), examples=some
    )


def _bad_tag(tags: tuple[str, ...], rules: Rules) -> Iterator[Problem]:
    if not rules.tag_pattern:
        return
    rule = f"Tags of this task must match {rules.tag_pattern} as a whole."
    for tag in tags:
        try:
            proposal = fitting_tag(tag, rules.tag_pattern)
        except re.error as error:
            rule = f"The task's tag rule {rules.tag_pattern!r} is not a regular expression ({error})."
            yield Problem(rule, "Tell the organisers.")
            return
        if proposal != tag:
            remedy = f"Change the sixth column, for example to {proposal}."
            if not proposal:
                remedy = "Change the sixth column."
            yield Problem(rule, remedy, None, "tag", shown(tag), fix="tag" if proposal else "")


def fitting_tag(tag: str, tag_pattern: str) -> str:
    """The tag itself where it matches the task's pattern, else one like it that does; '' without one.

    >>> fitting_tag("my+tag", "[a-z-]+")
    'my-tag'
    """
    if re.fullmatch(tag_pattern, tag):
        return tag
    proposal = re.sub(r"[^A-Za-z0-9._-]+", "-", tag).strip("-._")
    return proposal if re.fullmatch(tag_pattern, proposal) else ""


def _several_tags(run: Scanned[Checked]) -> Iterator[Problem]:
    if len(run.tags) > 1:
        more = ", ..." if len(run.tags) == TAGS_KEPT else ""
        rule = f"The file has more than one tag ({', '.join(map(shown, run.tags))}{more})."
        yield Problem(rule, "The tag of the last line is used.", None, "tag", shown(run.tag))


def _split_topics(run: Scanned[Checked]) -> Iterator[Problem]:
    if run.split_topics:
        rule = f"The lines of {_topics(run.split_topics)} are not all together."
        yield Problem(rule, "They were joined; check that no part belongs to another topic.")


def _missing_topics(run: Checked, rules: Rules) -> Iterator[Problem]:
    missing = _missing(run, rules)
    if missing and rules.expected and (is_caused := _follows(run, rules)):
        missing = [topic for topic in missing if topic not in is_caused]
    if missing:
        remedy = "They score as rankings without documents."
        yield Problem(f"The run has no documents for {_topics(missing)}.", remedy)


def _unjudged_topics(run: Checked, rules: Rules) -> Iterator[Problem]:
    judged = set(rules.judged)
    unjudged = [topic for topic in run.depths if topic not in judged]
    # Where the task's topics are known, rankings of unjudged topics are not a fault of the run.
    if rules.topics is None and judged and 0 < len(unjudged) < len(run.depths):
        yield Problem(f"There are no judgments for {_topics(unjudged)}.", "They do not count in the means.")


def _equal_scores(run: Checked) -> Iterator[Problem]:
    remedy = "Ties are ordered by docno, descending: use scores that express the order you mean."
    if run.constant:
        rule = f"All documents have the same score in {_topics(run.constant)}."
        yield Problem(rule, remedy, fix="ranks")
    if run.ties > MANY_TIES and len(run.constant) < len(run.depths):
        yield Problem(f"{run.ties:.1%} of neighbouring documents have equal scores.", remedy)


def _unknown_docnos(run: Checked) -> Iterator[Problem]:
    if run.unknown:
        rule = f"The collection does not have the documents of {run.unknown:,} of {run.entries:,} entries"
        remedy = "They count as not relevant; check that the run is of this collection."
        yield Problem(f"{rule} (for example {', '.join(run.unknown_named)}).", remedy)


def _missing(run: Checked, rules: Rules) -> list[str]:
    return [topic for topic in rules.expected if topic not in run.depths]


def _follows(run: Checked, rules: Rules) -> set[str]:
    """Topics that are missing because the run writes their ids otherwise, which is a problem of its own."""
    names = TopicNames(rules.expected)
    unknown = [topic for topic in run.depths if topic not in names]
    return set(rules.expected) if len(unknown) == len(run.depths) else set(map(names.meant, unknown))


def _topics(topics: Collection[str]) -> str:
    named = ", ".join(shown(topic) for topic in list(topics)[:NAMED])
    rest = f" and {len(topics) - NAMED:,} more" if len(topics) > NAMED else ""
    return f"{len(topics):,} {'topic' if len(topics) == 1 else 'topics'} ({named}{rest})"


def _facts(scanned: Scanned[Checked], rules: Rules) -> dict[str, Any]:
    run = scanned.consumer
    counts = list(run.depths.values())
    return {
        "tag": shown(scanned.tag),
        "tags": [shown(tag) for tag in scanned.tags],
        "entries": run.entries,
        "topics": len(run.depths),
        "missing": len(_missing(run, rules)),
        "depth": {"min": min(counts), "median": float(np.median(counts)), "max": max(counts)},
        "ties": run.ties,
        "metadata": bool(scanned.metadata),
        "preview": [list(entry) for entry in run.preview],
    }


def _preview(block: Block) -> list[tuple[str, str, float]]:
    first = min(PREVIEW_LINES, int(block.sizes()[0]))
    return [
        (shown(block.topics[0]), shown(block.docno(entry)), float(block.columns.score[entry]))
        for entry in range(first)
    ]
