"""Reading of answer judgments, combined with unchanged parts of the previous revision."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar, cast, get_args

from sqlalchemy import select
from sqlalchemy.orm import Session

from leaderboard.answers.ops import answers as answers_services
from leaderboard.answers.ops.nuggets.scoring import newest
from leaderboard.core import policy
from leaderboard.core.policy import Viewer
from leaderboard.db.tables import Run, Team
from leaderboard.errors import MAX_PROBLEMS, Conflict, Invalid, Problem, TooLarge
from leaderboard.scoring.ops.qrels.files import MAIN, PreparedQrels
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
    """An uploaded file of one part, with its original name."""

    path: Path
    name: str


@dataclass(frozen=True)
class ReadFiles:
    """The uploaded parts, with runs by their ids in the files; missing parts are empty."""

    sent: AnswerJudgments
    kept: AnswerJudgments
    """Parts of the previous revision that still apply, with runs by digest."""
    notes: tuple[Note, ...]


def read(files: Mapping[Part, PartFile], before: AnswerJudgments) -> ReadFiles:
    """Read the uploaded parts, given the previous judgments; raises Invalid, naming the file."""
    if not files:
        raise Invalid("Choose a file: a nugget set, assignments, support labels, or Auto-ARGUE's judgments.")
    if "assignments" in files and "argue" in files:
        raise Invalid("Assignments and Auto-ARGUE's judgments both label nuggets; upload only one of them.")
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
    nugget_set = nuggets if nuggets.topics else None
    return _read("assignments", lambda path: read_assignments(path, nugget_set), files)


def kept(
    parts: Collection[Part], before: AnswerJudgments, nuggets: NuggetSet
) -> tuple[AnswerJudgments, tuple[Note, ...]]:
    """Parts kept next to new ones; labels of changed nuggets are dropped, with a note."""
    notes = []
    left = AnswerJudgments(nuggets)
    if "support" not in parts:
        left = replace(left, support=before.support)
    if "assignments" in parts or "argue" in parts:
        if before.argued.cells and "assignments" in parts:
            notes.append(Note("These assignments replace the previous judgments of Auto-ARGUE."))
        if before.assignments is not None and "argue" in parts:
            notes.append(Note("Auto-ARGUE's judgments replace the previous assignments."))
        return left, tuple(notes)
    if before.assignments is not None:
        cells = before.assignments.cells
        same = {key: cell for key, cell in cells.items() if _is_same(key[1], before.nuggets, nuggets)}
        left = replace(left, assignments=Assignments(nuggets, same))
        if gone := tuple(sorted({topic for _, topic in cells.keys() - same.keys()})):
            rule = "Topics with changed nuggets, whose assignments no longer apply"
            notes.append(Note(f"{rule}: {len(gone):,}.", "Upload assignments of the new nuggets.", "", gone))
    return replace(left, argued=ArguedAnswers(before.argued.cells)), tuple(notes)


def _is_same(topic: str, before: NuggetSet, after: NuggetSet) -> bool:
    old, new = (tuple(nugget.text for nugget in each.topics.get(topic, ())) for each in (before, after))
    return old == new


def _read(part: Part, reader: Callable[[Path], Read], files: Mapping[Part, PartFile]) -> Read | None:
    """The part as read from its file, None if not uploaded; errors name the file."""
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
        """Origin (machine if one made any part), and the makers of all parts as text."""
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
        """Number of labels."""
        return self.answers.labels

    @property
    def facts(self) -> dict[tuple[str, ...], float]:
        """(topic, part, run, item) -> a number for each label; nuggets by importance."""
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
            for place, sentence in enumerate(argued.sentences):
                word = f"{place} {sentence.citations} {sentence.relevant} {sentence.needs}"
                facts[topic, "sentence", run, word] = float(sentence.supporting)
        return facts


def of_answers(answers: PackedAnswers, file_name: str = "") -> PreparedAnswers:
    """Prepare judgments of answers; their digest is that of their canonical text."""
    return _prepared(answers, packed(answers), file_name)


def of_packed(stored: bytes, file_name: str) -> PreparedAnswers:
    """The judgments of a revision; raises Damaged."""
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
    """The labels with runs by digest, and notes on ignored runs and different texts.

    A run is found by its name, its tag, or `TEAM/NAME`. Raises Invalid for an ambiguous id, and for a label
    of a place that does not exist in the answer.
    """
    names = _named_in(sent)
    candidates = _known(session, task_id)
    several = [name for name in names if len(candidates.get(name, ())) > 1]
    if several:
        problems = [_ambiguous(name, candidates[name]) for name in several[:MAX_PROBLEMS]]
        raise Invalid("The files contain ambiguous run ids.", problems)
    runs = {name: candidates[name][0] for name in names if name in candidates}
    notes = [*_passed_over([name for name in names if name not in runs])]
    support: dict[tuple[str, str], LabelledSegments] = {}
    faults: list[Problem] = []
    for name, run in runs.items():
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
        raise Invalid(
            "Support labels refer to places that do not exist in the answers.", faults[:MAX_PROBLEMS]
        )
    return _by_digest(sent, support, runs, notes), tuple(notes)


def _by_digest(
    sent: AnswerJudgments,
    support: Mapping[tuple[str, str], LabelledSegments],
    runs: Mapping[str, StoredRun],
    notes: list[Note],
) -> AnswerJudgments:
    of_digest: defaultdict[str, list[str]] = defaultdict(list)
    for name, run in runs.items():
        of_digest[run.sha256].append(name)
    first = {names[0]: sha256 for sha256, names in of_digest.items()}
    for names in of_digest.values():
        if len(names) > 1:
            others = ", ".join(map(shown, names[1:]))
            notes.append(
                Note(f"Runs with the same answers as run {shown(names[0])} share its labels: {others}.")
            )
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
    """The ids of the runs named in the files, in byte order."""
    cells: Iterable[tuple[str, str]] = (
        *(sent.assignments.cells if sent.assignments else ()),
        *sent.support.cells,
        *sent.argued.cells,
    )
    return sorted({run for run, _ in cells})


def _known(session: Session, task_id: int) -> dict[str, Sequence[StoredRun]]:
    """Possible id -> matching runs; a run's own name takes precedence over tags of others."""
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
        f"Run id {shown(name)} matches {len(runs)} runs (numbers {numbers}).",
        "Write team and run name, as TEAM/NAME.",
        None,
        "run_id",
        shown(name),
    )


def _passed_over(unknown: Sequence[str]) -> Iterator[Note]:
    if unknown:
        named = ", ".join(map(shown, unknown[:NAMED])) + (", ..." if len(unknown) > NAMED else "")
        rule = f"Labels of runs that the task does not have are ignored: {len(unknown):,} ({named})."
        yield Note(rule, "Submit these runs first if they should be scored.")


def _other_texts(
    sent: AnswerJudgments, name: str, run: StoredRun, answers: Mapping[str, Answer]
) -> Iterator[Note]:
    """Topics where the judged text differs from the answer."""
    texts = {topic: answer.text for topic, answer in answers.items()}
    judged = {"assignments": differing_texts(sent.assignments, name, texts) if sent.assignments else []}
    judged["support labels"] = [
        topic
        for (of_run, topic), labelled in sent.support.answers.items()
        if of_run == name and any(labelled.texts) and labelled.texts != _texts(answers.get(topic))
    ]
    for what, topics in judged.items():
        if topics:
            rule = (
                f"The {what} of run {shown(name)} are for a different text than its answers: {len(topics):,}."
            )
            yield Note(rule, "Check that they are for this version of the run.", run.sha256, tuple(topics))


def _texts(answer: Answer | None) -> tuple[str, ...]:
    return tuple(map(folded, answer.texts)) if answer else ()


def _fitting(
    support: SupportLabels, run: str, topic: str, answer: Answer | None
) -> tuple[tuple[int, ...], ...]:
    """The labels of an answer's segments; raises Fault for places that do not exist."""
    labels = support.of(run, topic, answer) or ()
    cited: list[Any] = [len(segment.citations) for segment in answer.segments] if answer else []
    for place, given in enumerate(labels):
        if given and (place >= len(cited) or len(given) > cited[place]):
            rule = f"Run {shown(run)} has labels for a citation missing from its answer to {shown(topic)}."
            where = f"segment {place}, citation {len(given) - 1} (from 0)"
            raise Fault(rule, "Check that the labels are for this run.", "label", where)
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
    """Judgments of a new revision of a series: the uploaded parts and the unchanged others.

    made_by: origin of the uploaded parts, people by default; leaves_out None: unchanged. Nugget labels
    uploaded to a separate series without a nugget set use the nuggets of the series, else of the board.
    Raises Invalid for an unreadable file, Conflict for a ranking task.
    """
    task = policy.own_task(session, viewer, slug)
    if task.kind != KIND:
        raise Conflict(f"{task.name} takes rankings; nuggets and labels are for answer tasks.")
    before = newest(session, task.id, line) or PackedAnswers(AnswerJudgments())
    takes_nuggets = line != MAIN and "nuggets" not in files and bool(LABELS & files.keys())
    if takes_nuggets:
        before = _with_nuggets_of_board(session, task.id, before)
    read_files = read(files, before.judgments)
    sent, notes = resolved(session, task.id, read_files.sent)
    makers = {part: made_by.get(part, MadeBy()) for part in files}
    whole = together(before, sent, read_files.kept, makers, (*read_files.notes, *notes))
    if takes_nuggets:
        whole = _of_labelled_topics(whole)
    if leaves_out is not None:
        whole = replace(whole, leaves_out=leaves_out)
    return of_answers(whole, ", ".join(file.name for file in files.values()))


def _with_nuggets_of_board(session: Session, task_id: int, before: PackedAnswers) -> PackedAnswers:
    """The judgments of a series, completed by the board's nuggets on topics without any."""
    board = newest(session, task_id)
    if board is None:
        return before
    nuggets = NuggetSet({**board.judgments.nuggets.topics, **before.judgments.nuggets.topics})
    maker = before.made_by.get("nuggets", board.made_by.get("nuggets", MadeBy()))
    made_by: dict[Part, MadeBy] = {**before.made_by, "nuggets": maker}
    return replace(before, judgments=replace(before.judgments, nuggets=nuggets), made_by=made_by)


def _of_labelled_topics(whole: PackedAnswers) -> PackedAnswers:
    """The same without nuggets of topics without labels, which the series does not judge."""
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
    """The new parts and the kept ones; made_by: origin of the new ones."""
    judgments = _joined(sent, kept)
    makers = {part: maker for part, maker in before.made_by.items() if _is_there(judgments, part)}
    makers |= made_by
    if "nuggets" not in makers and judgments.nuggets.topics:
        # Without a nugget set, the assignments define the nuggets.
        makers["nuggets"] = makers.get("assignments", MadeBy())
    all_notes = (*notes, *_failed(judgments))
    return PackedAnswers(judgments, dict(sorted(makers.items())), before.leaves_out, all_notes)


def _joined(sent: AnswerJudgments, kept: AnswerJudgments) -> AnswerJudgments:
    """The uploaded parts and the kept previous ones."""
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
    rule = f"{share:.1%} of all assignments failed; they count as not supported."
    return (Note(rule, "Repeat the failed assignments."),)


NAME_CHARACTERS = 100
SENDERS_NAMES = ", ".join(PARTS)


def maker(kind: str, name: str) -> MadeBy:
    """The origin of a part: human, machine or both, with the machine's name; raises Invalid."""
    if kind not in get_args(Maker):
        raise Invalid("The origin of nuggets and labels must be people, a machine, or both.")
    name = name.strip()[:NAME_CHARACTERS]
    if kind != "human" and not name:
        raise Invalid("Enter the name of the machine; it is shown with the scores.")
    return MadeBy(cast(Maker, kind), "" if kind == "human" else name)


def has_parts(path: Path, limits: Limits = DEFAULT_LIMITS) -> bool:
    """Whether a file is an archive of parts, by member names; False for other or damaged files.

    An archive with a part several times, as from several judges, does not form one revision.
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
    """The parts in a zip or tar, each in a file named by it, such as nuggets.jsonl; temporary.

    Raises Invalid for another kind of file or an unknown member name, TooLarge beyond limits.
    """
    kind = kind_of(path, limits)
    if not kind:
        raise Invalid(f"Send several parts as a zip or tar with files named {SENDERS_NAMES}.")
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
        "Not one of the parts, or a duplicate part.", f"Name each file by one of {SENDERS_NAMES}."
    )
    if member.leads_outside:
        problem = Problem("The path is absolute or contains `..`.", "Create the archive inside its folder.")
    why = replace(member.problem or problem, field="file", value=shown(name))
    return Invalid(f"The archive contains {name}. {member.problem or problem}", [why])
