"""Files of judgments of answers, together with what the revision before has of the parts not sent."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar, cast, get_args

from sqlalchemy import select
from sqlalchemy.orm import Session

from leaderboard.db.tables import Run, Team
from leaderboard.errors import MAX_PROBLEMS, Conflict, Invalid, Problem, TooLarge
from leaderboard.services import answers as answers_services
from leaderboard.services import policy
from leaderboard.services.nuggets.scoring import newest
from leaderboard.services.policy import Viewer
from leaderboard.services.qrels.files import MAIN, PreparedQrels
from leaderboard.trec.answers.record import Answer, folded
from leaderboard.trec.nuggets.assignments import Assignments, differing_texts, read_assignments
from leaderboard.trec.nuggets.judgments import MANY_FAILED, AnswerJudgments
from leaderboard.trec.nuggets.packing import (
    PARTS,
    MadeBy,
    Maker,
    Note,
    PackedAnswers,
    Part,
    packed,
    sha256,
    unpacked,
)
from leaderboard.trec.nuggets.sets import ArguedAnswers, NuggetSet, read_argued, read_nuggets
from leaderboard.trec.nuggets.support import LabelledSegments, SupportLabels, read_support
from leaderboard.trec.read.bundles import BundledFile, base_name, file_names, kind_of, member_name, unbundled
from leaderboard.trec.read.json_objects import Fault
from leaderboard.trec.read.lines import DEFAULT_LIMITS, Limits, shown

Read = TypeVar("Read")

WORDS: dict[Part, str] = {
    "nuggets": "nuggets",
    "assignments": "assignments",
    "support": "support labels",
    "argue": "Auto-ARGUE's judgments",
}


@dataclass(frozen=True, slots=True)
class PartFile:
    """A file that was sent of one part, and the name its sender gave it."""

    path: Path
    name: str


@dataclass(frozen=True)
class ReadFiles:
    """What was sent, with runs by the ids they have in the files; parts that were not sent are empty."""

    sent: AnswerJudgments
    kept: AnswerJudgments
    """The parts of the revision before that still hold, with runs by their digests."""
    notes: tuple[Note, ...]


def read(files: Mapping[Part, PartFile], before: AnswerJudgments) -> ReadFiles:
    """Read what was sent, next to the judgments before; raises Invalid, naming the file at fault."""
    if not files:
        raise Invalid("Choose a file: a nugget set, assignments, support labels, or Auto-ARGUE's judgments.")
    if "assignments" in files and "argue" in files:
        raise Invalid("Assignments and Auto-ARGUE's judgments both label nuggets; send one of the two.")
    nuggets = _read("nuggets", read_nuggets, files) or before.nuggets
    assignments = _assignments(files, nuggets)
    if assignments is not None:
        nuggets = replace(assignments.nuggets, notes=nuggets.notes)
    argued = _read("argue", read_argued, files)
    sent = AnswerJudgments(nuggets, assignments)
    if (support := _read("support", read_support, files)) is not None:
        sent = replace(sent, support=support)
    if argued is not None:
        sent = replace(sent, argued=argued)
    left, dropped = kept(files, before, nuggets)
    notes = (*nuggets.notes, *(argued.notes if argued else ()))
    return ReadFiles(sent, left, (*(Note(note.rule, note.remedy) for note in notes), *dropped))


def _assignments(files: Mapping[Part, PartFile], nuggets: NuggetSet) -> Assignments | None:
    known = nuggets if nuggets.topics else None
    return _read("assignments", lambda path: read_assignments(path, known), files)


def kept(
    parts: Collection[Part], before: AnswerJudgments, nuggets: NuggetSet
) -> tuple[AnswerJudgments, tuple[Note, ...]]:
    """What stays beside new parts; labels of nuggets that are others now are dropped, which is said."""
    notes = []
    left = AnswerJudgments(nuggets)
    if "support" not in parts:
        left = replace(left, support=before.support)
    if "assignments" in parts or "argue" in parts:
        if before.argued.cells and "assignments" in parts:
            notes.append(Note("The judgments of Auto-ARGUE before give way to these assignments."))
        if before.assignments is not None and "argue" in parts:
            notes.append(Note("The assignments before give way to Auto-ARGUE's judgments."))
        return left, tuple(notes)
    if before.assignments is not None:
        cells = before.assignments.cells
        same = {key: cell for key, cell in cells.items() if _is_same(key[1], before.nuggets, nuggets)}
        left = replace(left, assignments=Assignments(nuggets, same))
        if gone := tuple(sorted({topic for _, topic in cells.keys() - same.keys()})):
            rule = "Topics whose nuggets are others now, so that their assignments no longer hold"
            notes.append(Note(f"{rule}: {len(gone):,}.", "Send assignments of these nuggets.", "", gone))
    return replace(left, argued=ArguedAnswers(before.argued.cells)), tuple(notes)


def _is_same(topic: str, before: NuggetSet, after: NuggetSet) -> bool:
    old, new = (tuple(one.text for one in each.topics.get(topic, ())) for each in (before, after))
    return old == new


def _read(part: Part, reader: Callable[[Path], Read], files: Mapping[Part, PartFile]) -> Read | None:
    """What the reader makes of the part's file, None where none was sent; its errors name the file."""
    if part not in files:
        return None
    try:
        return reader(files[part].path)
    except Invalid as error:
        raise Invalid(f"{files[part].name} ({WORDS[part]}): {error.message}", error.problems) from error


KIND = "answers"
_IMPORTANCES = {"failed": 0.0, "okay": 1.0, "vital": 2.0}
_LABELS = {"failed": -1.0, "not_support": 0.0, "partial_support": 0.5, "support": 1.0}


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class PreparedAnswers(PreparedQrels):
    """Judgments of answers, read and packed."""

    answers: PackedAnswers

    @property
    def made_by(self) -> tuple[str, str] | None:
        """Machine where one made any part; in words who made which."""
        makers = self.answers.made_by
        is_machine = any(maker.kind != "human" for maker in makers.values())
        words = "; ".join(f"{WORDS[part]} by {makers[part]}" for part in PARTS if part in makers)
        return ("machine" if is_machine else "human"), (words if is_machine else "")

    @property
    def topics(self) -> list[str]:
        """The topics with nuggets or labels, in byte order."""
        return self.answers.topics

    @property
    def size(self) -> int:
        """How many labels there are."""
        return self.answers.labels

    @property
    def facts(self) -> dict[tuple[str, ...], float]:
        """(topic, what, run, what of it) -> a number that tells labels apart, nuggets by their importance."""
        judged = self.answers.judgments
        facts: dict[tuple[str, ...], float] = {
            (topic, "nugget", "", nugget.text): _IMPORTANCES[nugget.importance]
            for topic, nuggets in judged.nuggets.topics.items()
            for nugget in nuggets
        }
        for (run, topic), cell in judged.assignments.cells.items() if judged.assignments else ():
            nuggets = judged.nuggets.topics[topic]
            for nugget, label in zip(nuggets, cell.labels, strict=True):
                facts[topic, "assignment", run, nugget.text] = _LABELS[label]
        for (run, topic), segments in judged.support.answers.items():
            for place, labels in enumerate(segments.labels):
                for citation, support in enumerate(labels):
                    facts[topic, "support", run, f"{place} {citation}"] = float(support)
        for (run, topic), argued in judged.argued.cells.items():
            for place, one in enumerate(argued.sentences):
                word = f"{place} {one.citations} {one.relevant} {one.needs}"
                facts[topic, "sentence", run, word] = float(one.supporting)
        return facts


def of_answers(answers: PackedAnswers, file_name: str = "") -> PreparedAnswers:
    """Judgments of answers, prepared; their digest is that of their canonical text."""
    return _prepared(answers, packed(answers), file_name)


def of_packed(stored: bytes, file_name: str) -> PreparedAnswers:
    """What a revision holds; raises Damaged."""
    return _prepared(unpacked(stored), stored, file_name)


def _prepared(answers: PackedAnswers, stored: bytes, file_name: str) -> PreparedAnswers:
    return PreparedAnswers(
        file_name=file_name,
        sha256=sha256(answers),
        kind=KIND,
        judgments={},
        rows=(),
        packed=stored,
        warnings=answers.judgments.nuggets.notes,
        answers=answers,
    )


NAMED = 20
"""Runs named in one note."""
Cell = TypeVar("Cell")


@dataclass(frozen=True, slots=True)
class StoredRun:
    """A run of the task, by its number and the digest of its answers."""

    id: int
    sha256: str


def resolved(
    session: Session, task_id: int, sent: AnswerJudgments
) -> tuple[AnswerJudgments, tuple[Note, ...]]:
    """The labels with each run known by its digest, and notes on runs passed over and texts that differ.

    A run is found by its name, its tag, or `TEAM/NAME`. Raises Invalid where an id is of several runs, and
    where a label is of a place that an answer does not have.
    """
    names = _named_in(sent)
    known = _known(session, task_id)
    several = [name for name in names if len(known.get(name, ())) > 1]
    if several:
        problems = [_ambiguous(name, known[name]) for name in several[:MAX_PROBLEMS]]
        raise Invalid("The files name runs that several runs could be.", problems)
    found = {name: known[name][0] for name in names if name in known}
    notes = [*_passed_over([name for name in names if name not in found])]
    support: dict[tuple[str, str], LabelledSegments] = {}
    faults: list[Problem] = []
    for name, run in found.items():
        answers = {answer.topic: answer for answer in answers_services.of_run(session, run.id)}
        notes += _other_texts(sent, name, run, answers)
        for topic in (topic for of_run, topic in sent.support.cells if of_run == name):
            try:
                labels = _fitting(sent.support, name, topic, answers.get(topic))
            except Fault as fault:
                faults.append(Problem(fault.rule, fault.remedy, None, fault.field, fault.value))
                continue
            support[name, topic] = LabelledSegments(labels)
    if faults:
        raise Invalid("Support labels are of places that answers do not have.", faults[:MAX_PROBLEMS])
    return _by_digest(sent, support, found, notes), tuple(notes)


def _by_digest(
    sent: AnswerJudgments,
    support: Mapping[tuple[str, str], LabelledSegments],
    found: Mapping[str, StoredRun],
    notes: list[Note],
) -> AnswerJudgments:
    of_digest: defaultdict[str, list[str]] = defaultdict(list)
    for name, run in found.items():
        of_digest[run.sha256].append(name)
    first = {names[0]: sha256 for sha256, names in of_digest.items()}
    for names in of_digest.values():
        if len(names) > 1:
            others = ", ".join(map(shown, names[1:]))
            notes.append(Note(f"Runs with the answers of run {shown(names[0])} share its labels: {others}."))
    assigned = sent.assignments
    return replace(
        sent,
        assignments=assigned and Assignments(sent.nuggets, _renamed(assigned.cells, first)),
        support=SupportLabels(_renamed(support, first)),
        argued=ArguedAnswers(_renamed(sent.argued.cells, first)),
    )


def _renamed(cells: Mapping[tuple[str, str], Cell], names: Mapping[str, str]) -> dict[tuple[str, str], Cell]:
    return {(names[run], topic): cell for (run, topic), cell in cells.items() if run in names}


def _named_in(sent: AnswerJudgments) -> list[str]:
    """The ids of the runs that files name, in byte order."""
    cells: Iterable[tuple[str, str]] = (
        *(sent.assignments.cells if sent.assignments else ()),
        *sent.support.cells,
        *sent.argued.cells,
    )
    return sorted({run for run, _ in cells})


def _known(session: Session, task_id: int) -> dict[str, Sequence[StoredRun]]:
    """What a run may be called -> the runs that are; its own name goes before the tags of others."""
    rows = session.execute(
        select(Run.id, Run.name, Run.tag, Run.ranking_sha256, Team.name.label("team"))
        .join(Team, Team.id == Run.team_id)
        .where(Run.task_id == task_id, Run.withdrawn_at.is_(None))
        .order_by(Run.id)
    ).all()
    named: defaultdict[str, list[StoredRun]] = defaultdict(list)
    tagged: defaultdict[str, list[StoredRun]] = defaultdict(list)
    whole: dict[str, list[StoredRun]] = {}
    for row in rows:
        run = StoredRun(row.id, row.ranking_sha256)
        named[row.name].append(run)
        tagged[row.tag].append(run)
        whole[f"{row.team}/{row.name}"] = [run]
    return {**whole, **tagged, **named}


def _ambiguous(name: str, runs: Sequence[StoredRun]) -> Problem:
    numbers = ", ".join(str(run.id) for run in runs)
    return Problem(
        f"Run id {shown(name)} is of {len(runs)} runs (numbers {numbers}).",
        "Write the team and the name of the run, as TEAM/NAME.",
        None,
        "run_id",
        shown(name),
    )


def _passed_over(unknown: Sequence[str]) -> Iterator[Note]:
    if unknown:
        named = ", ".join(map(shown, unknown[:NAMED])) + (", ..." if len(unknown) > NAMED else "")
        rule = f"Labels of runs that the task does not have are passed over: {len(unknown):,} ({named})."
        yield Note(rule, "Send these runs first, if they should have scores.")


def _other_texts(
    sent: AnswerJudgments, name: str, run: StoredRun, answers: Mapping[str, Answer]
) -> Iterator[Note]:
    """Where what was judged is not what the run says."""
    texts = {topic: answer.text for topic, answer in answers.items()}
    judged = {"assignments": differing_texts(sent.assignments, name, texts) if sent.assignments else []}
    judged["support labels"] = [
        topic
        for (of_run, topic), labelled in sent.support.answers.items()
        if of_run == name and any(labelled.texts) and labelled.texts != _texts(answers.get(topic))
    ]
    for what, topics in judged.items():
        if topics:
            rule = f"The {what} of run {shown(name)} are of another text than its answers: {len(topics):,}."
            yield Note(rule, "Check that they belong to this version of the run.", run.sha256, tuple(topics))


def _texts(answer: Answer | None) -> tuple[str, ...]:
    return tuple(map(folded, answer.texts)) if answer else ()


def _fitting(
    support: SupportLabels, run: str, topic: str, answer: Answer | None
) -> tuple[tuple[int, ...], ...]:
    """The labels of an answer's segments; raises Fault where they are of a place that it does not have."""
    labels = support.of(run, topic, answer) or ()
    cited: list[Any] = [len(segment.citations) for segment in answer.segments] if answer else []
    for place, given in enumerate(labels):
        if given and (place >= len(cited) or len(given) > cited[place]):
            rule = f"Run {shown(run)} has labels of a citation that its answer to {shown(topic)} lacks."
            where = f"segment {place}, citation {len(given) - 1} (from 0)"
            raise Fault(rule, "Check that labels and run belong together.", "label", where)
    return labels


LABELS = frozenset(("assignments", "argue"))
"""The parts that label nuggets."""


def prepare(
    session: Session,
    viewer: Viewer,
    slug: str,
    files: Mapping[Part, PartFile],
    made_by: Mapping[Part, MadeBy],
    *,
    leaves_out: bool | None = None,
    line: str = MAIN,
) -> PreparedAnswers:
    """The judgments that a revision of a line would hold: the parts sent, and the others as they are there.

    made_by: who made the parts sent, people where nothing is said; leaves_out None is as before. Labels of
    nuggets that another line than the board's is sent without a set are of the nuggets it has, else of the
    board's. Raises Invalid for a file that cannot be read, Conflict for a task of rankings.
    """
    task = policy.own_task(session, viewer, slug)
    if task.kind != KIND:
        raise Conflict(f"{task.name} takes rankings; nuggets and labels are for tasks of answers.")
    before = newest(session, task.id, line) or PackedAnswers(AnswerJudgments())
    takes_nuggets = line != MAIN and "nuggets" not in files and bool(LABELS & files.keys())
    if takes_nuggets:
        before = _with_nuggets_of_board(session, task.id, before)
    found = read(files, before.judgments)
    sent, notes = resolved(session, task.id, found.sent)
    makers = {part: made_by.get(part, MadeBy()) for part in files}
    whole = together(before, sent, found.kept, makers, (*found.notes, *notes))
    if takes_nuggets:
        whole = _of_labelled_topics(whole)
    if leaves_out is not None:
        whole = replace(whole, leaves_out=leaves_out)
    return of_answers(whole, ", ".join(file.name for file in files.values()))


def _with_nuggets_of_board(session: Session, task_id: int, before: PackedAnswers) -> PackedAnswers:
    """What a line holds, with the board's nuggets of topics that it has none of."""
    board = newest(session, task_id)
    if board is None:
        return before
    nuggets = NuggetSet({**board.judgments.nuggets.topics, **before.judgments.nuggets.topics})
    maker = before.made_by.get("nuggets", board.made_by.get("nuggets", MadeBy()))
    made_by: dict[Part, MadeBy] = {**before.made_by, "nuggets": maker}
    return replace(before, judgments=replace(before.judgments, nuggets=nuggets), made_by=made_by)


def _of_labelled_topics(whole: PackedAnswers) -> PackedAnswers:
    """The same without nuggets of topics of which nobody labelled any: these are not the line's to judge."""
    judgments = whole.judgments
    assigned = judgments.assignments.cells if judgments.assignments else {}
    labelled = {topic for _, topic in (*assigned, *judgments.argued.cells)}
    topics = {topic: given for topic, given in judgments.nuggets.topics.items() if topic in labelled}
    nuggets = replace(judgments.nuggets, topics=topics)
    again = None if judgments.assignments is None else Assignments(nuggets, assigned)
    return replace(whole, judgments=replace(judgments, nuggets=nuggets, assignments=again))


def together(
    before: PackedAnswers,
    sent: AnswerJudgments,
    kept: AnswerJudgments,
    made_by: Mapping[Part, MadeBy],
    notes: Iterable[Note] = (),
) -> PackedAnswers:
    """The new parts, and those before that stay; made_by: who made the new ones."""
    judgments = _joined(sent, kept)
    makers = {part: maker for part, maker in before.made_by.items() if _is_there(judgments, part)}
    makers |= made_by
    if "nuggets" not in makers and judgments.nuggets.topics:
        # Without a set of their own, assignments name the nuggets.
        makers["nuggets"] = makers.get("assignments", MadeBy())
    told = (*notes, *_failed(judgments))
    return PackedAnswers(judgments, dict(sorted(makers.items())), before.leaves_out, told)


def _joined(sent: AnswerJudgments, kept: AnswerJudgments) -> AnswerJudgments:
    """What was sent, and the parts before it that stay."""
    assigned = sent.assignments or kept.assignments
    return replace(
        sent,
        assignments=assigned and Assignments(sent.nuggets, assigned.cells),
        support=sent.support if sent.support.cells else kept.support,
        argued=sent.argued if sent.argued.cells else kept.argued,
    )


def _is_there(judgments: AnswerJudgments, part: Part) -> bool:
    return {
        "nuggets": bool(judgments.nuggets.topics),
        "assignments": judgments.assignments is not None,
        "support": bool(judgments.support.cells),
        "argue": bool(judgments.argued.cells),
    }[part]


def _failed(judgments: AnswerJudgments) -> tuple[Note, ...]:
    share = judgments.assignments.failed_share if judgments.assignments else 0.0
    if share <= MANY_FAILED:
        return ()
    rule = f"{share:.1%} of all assignments failed; they count as not held."
    return (Note(rule, "Assign them again."),)


NAME_CHARACTERS = 100
SENDERS_NAMES = ", ".join(PARTS)


def maker(kind: str, name: str) -> MadeBy:
    """Who made a part: human, machine or both, a machine by its name; raises Invalid."""
    if kind not in get_args(Maker):
        raise Invalid("Nuggets and labels are made by people, by a machine, or by both.")
    name = name.strip()[:NAME_CHARACTERS]
    if kind != "human" and not name:
        raise Invalid("Say which machine made them: scores are shown with its name.")
    return MadeBy(cast(Maker, kind), "" if kind == "human" else name)


def has_parts(path: Path, limits: Limits = DEFAULT_LIMITS) -> bool:
    """Whether an archive holds parts, by the names of its files; False for other files and damaged ones.

    One that has a part several times, as of several judges, holds files that do not belong together.
    """
    kind = kind_of(path, limits)
    try:
        names = file_names(path, kind, limits) if kind else []
    except (Invalid, TooLarge):
        return False
    parts = [part for name in names if (part := _part(base_name(member_name(name)))) is not None]
    return bool(parts) and len(parts) == len(set(parts))


@contextmanager
def parts_of(path: Path, limits: Limits = DEFAULT_LIMITS) -> Iterator[Mapping[Part, PartFile]]:
    """The parts in a zip or tar, each in a file named by it, such as nuggets.jsonl; gone afterwards.

    Raises Invalid for another kind of file, or a file in it that is named otherwise, TooLarge beyond limits.
    """
    kind = kind_of(path, limits)
    if not kind:
        raise Invalid(f"Several parts come as a zip or tar of files named {SENDERS_NAMES}.")
    files: dict[Part, PartFile] = {}
    with TemporaryDirectory(prefix="nuggets-") as folder:
        for member in unbundled(path, kind, Path(folder), limits, len(PARTS)):
            name = base_name(member.name)
            part = _part(name)
            if part is None or member.path is None or part in files or member.leads_outside:
                raise _refused(member, name)
            files[part] = PartFile(member.path, name)
        yield files


def _part(name: str) -> Part | None:
    return next((part for part in PARTS if name.split(".")[0] == part), None)


def _refused(member: BundledFile, name: str) -> Invalid:
    problem = Problem(
        "It is none of the parts, or one that is there twice.", f"Name each by one of {SENDERS_NAMES}."
    )
    if member.leads_outside:
        problem = Problem("Its path is absolute or has `..`.", "Make the archive inside its folder.")
    why = replace(member.problem or problem, field="file", value=shown(name))
    return Invalid(f"The archive holds {name}. {member.problem or problem}", [why])
