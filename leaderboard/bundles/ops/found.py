"""Detection of topics, qrels and runs in a folder, as used with trec_eval or in an archive.

Nothing is stored here. Guesses and omissions are reported, so that a person can confirm them.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from sqlalchemy.orm import Session

from leaderboard.accounts.ops import teams
from leaderboard.bundles.ops.opening import BundleFiles
from leaderboard.core.policy import Viewer
from leaderboard.db.engine import unlimited
from leaderboard.errors import Invalid, Problem, TooLarge
from leaderboard.runs.ops import limits as runs_limits
from leaderboard.runs.ops import prepare, uploads
from leaderboard.runs.ops.limits import RunRequest
from leaderboard.runs.ops.prepare import ListRow, RunList, suggested_name
from leaderboard.runs.ops.uploads import Delivery
from leaderboard.tasks.ops import drafts
from leaderboard.tasks.ops.drafts import DEEPEST, PreparedTask, TaskDraft
from leaderboard.trec.qrels.qrels import read_qrels
from leaderboard.trec.read.converted import fits
from leaderboard.trec.read.forms import Head
from leaderboard.trec.read.lines import Limits
from leaderboard.trec.read.other_forms import kind_of as kind_of_lines
from leaderboard.trec.read.other_forms import named
from leaderboard.trec.read.plain import plain_blocks
from leaderboard.trec.runs.check import Rules, read_and_check
from leaderboard.trec.topics import forms
from leaderboard.trec.topics import topics as trec_topics
from leaderboard.trec.topics.records import ID_KEYS
from leaderboard.trec.topics.topics import TopicsFile

DEPTH = 1000
TEAM = "Participants"
_INPUT = re.compile(r"^(?:input|run|results?)[._]", re.IGNORECASE)
"""Prefixes of run file names in archives and among users of trec_eval."""

Progress = Callable[[str], object]


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundRun:
    """An importable run file: run name, team and depth."""

    path: str
    name: str
    team: str
    kind: str
    topics: int
    deepest: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundTask:
    """The detected content of a folder; paths are relative to it, '' if there is no such file."""

    topics_path: str
    topics: tuple[str, ...]
    qrels_path: str
    judgments: int
    judged: tuple[str, ...]
    list_path: str
    runs: tuple[FoundRun, ...]
    left_out: Mapping[str, str]
    doubts: tuple[str, ...]
    """Findings to confirm before the import."""
    mapping: str = ""
    """The reading of the judgments where it was guessed, to be confirmed; as `forms.asked` takes it."""
    read_as: tuple[str, ...] = ()
    """Notes on how the files were read, as sentences."""

    @property
    def depth(self) -> int:
        """Documents per topic that the task has to accept."""
        return max((run.deepest for run in self.runs), default=DEPTH) if self.is_deep else DEPTH

    @property
    def is_deep(self) -> bool:
        """Whether a run is deeper than tasks usually accept."""
        return any(run.deepest > DEPTH for run in self.runs)


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundChoice:
    """The user's choices: topics file, qrels file, and team of runs missing from the team list."""

    topics: str = ""
    qrels: str = ""
    team: str = TEAM
    name_topics: str = "--topics FILE"
    name_qrels: str = "--qrels FILE"
    """Name of a file in error messages."""
    limits: Limits = field(default_factory=Limits)


def look(files: BundleFiles, choice: FoundChoice, progress: Progress = lambda _: None) -> FoundTask:
    """Detect the content of the files; every run is checked like an upload.

    Raises Invalid where there is neither a file of topics nor one of judgments, and where several could be
    the one and none was named.
    """
    left_out = dict(files.left_out)
    by_kind: dict[str, list[str]] = {kind: [] for kind in (TOPICS, QRELS, RUN, LIST)}
    for name, path in sorted(files.paths.items()):
        kind, why = kind_of(path, name)
        if name in (choice.topics, choice.qrels):
            continue
        by_kind[kind].append(name) if kind else left_out.setdefault(name, why)
    doubts: list[str] = []
    judged = _judgments(files, by_kind[QRELS], choice, left_out, doubts)
    read_as = list(judged.notes)
    topics = _topics(files, by_kind[TOPICS], choice, set(judged.topics), left_out, doubts, read_as)
    listed = _list(files, by_kind[LIST], left_out)
    topic_ids = topics[1] if topics[0] else None
    runs, in_runs = _runs(files, by_kind[RUN], topic_ids, listed, choice, left_out, progress)
    if topic_ids is None:
        topic_ids = tuple(sorted({*topics[1], *in_runs}, key=str.encode))
        doubts.append("There is no topics file: topic ids are taken from judgments and runs, without titles.")
    if not (topics[0] or judged.path):
        raise Invalid("There is neither a topics file nor a qrels file, so there is no task to import.")
    refused = [name for name in by_kind[RUN] if name in left_out]
    if refused:
        doubts.append(f"{len(refused)} of {len(by_kind[RUN])} run files have errors and are not imported.")
    return FoundTask(
        topics_path=topics[0],
        topics=topic_ids,
        qrels_path=judged.path,
        judgments=judged.count,
        judged=judged.topics,
        list_path=by_kind[LIST][0] if listed is not None else "",
        runs=runs,
        left_out=dict(sorted(left_out.items())),
        doubts=tuple(doubts),
        mapping="\n".join(judged.guessed),
        read_as=tuple(read_as),
    )


@dataclass(frozen=True, slots=True)
class _Judged:
    path: str = ""
    count: int = 0
    topics: tuple[str, ...] = ()
    guessed: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def _judgments(
    files: BundleFiles, names: list[str], choice: FoundChoice, left_out: dict[str, str], doubts: list[str]
) -> _Judged:
    read: dict[str, _Judged] = {}
    named = choice.qrels
    for name in _asked(names, named, QRELS, left_out):
        try:
            qrels = read_qrels(files.file(name))
        except Invalid as error:
            if named:
                raise
            left_out[name] = f"invalid judgments: {error.message}"
            continue
        count, notes = sum(1 for _ in qrels.entries()), tuple(f"{name}: {note}" for note in qrels.notes)
        read[name] = _Judged(name, count, tuple(qrels.judgments), qrels.guessed, notes)
    chosen = _one(list(read), QRELS, choice.name_qrels, left_out, doubts)
    if not chosen:
        return _Judged()
    if read[chosen].guessed:
        doubts.append(f"Guessed in {chosen}: {', '.join(read[chosen].guessed)}.")
    return read[chosen]


def _topics(
    files: BundleFiles,
    names: list[str],
    choice: FoundChoice,
    judged: set[str],
    left_out: dict[str, str],
    doubts: list[str],
    read_as: list[str],
) -> tuple[str, tuple[str, ...]]:
    """The file of topics and their ids; '' and the judged ones where no file has any."""
    read: dict[str, TopicsFile] = {}
    named = choice.topics
    for name in _asked(names, named, TOPICS, left_out):
        try:
            reading = trec_topics.read(files.file(name))
        except Invalid as error:
            if named:
                raise
            left_out[name] = f"invalid topics: {error.message}"
            continue
        if judged and judged.isdisjoint(topic.topic_id for topic in reading.topics):
            if named:
                raise Invalid(
                    f"No topic in {named} is judged. Name the topics file that belongs to these judgments."
                )
            left_out[name] = "none of its topics is judged"
            continue
        read[name] = reading
    chosen = _one(list(read), TOPICS, choice.name_topics, left_out, doubts)
    if not chosen:
        return "", tuple(judged)
    if read[chosen].notes:
        (doubts if read[chosen].asks else read_as).append(f"Format of {chosen}: {read[chosen]}")
    return chosen, tuple(topic.topic_id for topic in read[chosen].topics)


def _asked(names: list[str], named: str, kind: str, left_out: dict[str, str]) -> list[str]:
    """The file that was named, or all; others are left out then."""
    if not named:
        return names
    left_out.update((name, f"{kind}, but {named} is used") for name in names)
    return [named]


def _one(names: list[str], kind: str, option: str, left_out: dict[str, str], doubts: list[str]) -> str:
    """The one file of a kind: of several the only one with a usual name, else Invalid is raised."""
    if len(names) < 2:
        return names[0] if names else ""
    usual = [name for name in names if NAMED[kind].search(Path(name).name)]
    if len(usual) != 1:
        listed = ", ".join(sorted(usual or names))
        problem = Problem("must be one file.", f"Name the file: {option}.", field=kind, value=listed[:200])
        raise Invalid(f"Several files could be the {kind}: {listed}. Name one: {option}.", [problem])
    for name in names:
        if name != usual[0]:
            left_out[name] = f"{kind}, but {usual[0]} is used"
    doubts.append(f"{len(names)} files could be the {kind}; {usual[0]} is used.")
    return usual[0]


def _list(files: BundleFiles, names: list[str], left_out: dict[str, str]) -> RunList | None:
    for name in names[1:]:
        left_out[name] = f"a list of teams, but {names[0]} is used"
    return prepare.read_list(files.file(names[0]).read_text(encoding="utf-8-sig")) if names else None


def _runs(
    files: BundleFiles,
    names: Iterable[str],
    topics: tuple[str, ...] | None,
    listed: RunList | None,
    choice: FoundChoice,
    left_out: dict[str, str],
    progress: Progress,
) -> tuple[tuple[FoundRun, ...], set[str]]:
    """The runs that can be imported, and their topics; topics None accepts all."""
    ids: set[str] = set()
    runs: dict[str, FoundRun] = {}
    for name in names:
        progress(name)
        scanned, report = read_and_check(files.file(name), Rules(topics=topics, depth=DEEPEST), choice.limits)
        if scanned is None or not report.accepted:
            left_out[name] = f"an invalid run: {report.problems[0]}"
            continue
        row = listed.row_of(prepare.names_of(name, scanned.tag)) if listed is not None else None
        own = _free_name(name, scanned.tag, runs)
        depths = scanned.consumer.depths
        ids |= depths.keys()
        runs[own] = FoundRun(
            path=name,
            name=own,
            team=row.team if row else choice.team,
            kind=_kind(row),
            topics=len(depths),
            deepest=max(depths.values()),
        )
    return tuple(runs.values()), ids


def _kind(row: ListRow | None) -> str:
    return row.kind if row is not None and row.kind else "official"


def _free_name(path: str, tag: str, taken: Mapping[str, object]) -> str:
    """The name of a run: its file name without archive prefixes, else its tag."""
    base = _INPUT.sub("", Path(path).name)
    names = [suggested_name(base), suggested_name(tag), suggested_name(path.replace("/", "-"))]
    free = next((name for name in names if name not in taken), None)
    number = 2
    while free is None:
        longer = f"{names[0][:58]}-{number}"
        free, number = (None if longer in taken else longer), number + 1
    return free


TOPICS, QRELS, RUN, LIST = "topics", "judgments", "run", "list of teams"
ONE_LINE = Limits(line_bytes=2**20)
_BY_LINES = {"run": RUN, "qrels": QRELS, "letor": QRELS, "topics": TOPICS}
NAMED = {TOPICS: re.compile(r"topic|quer", re.IGNORECASE), QRELS: re.compile(r"qrel|judg", re.IGNORECASE)}
"""Usual names of such files."""
_IDS = "|".join(ID_KEYS).encode()
_HAS_ID = re.compile(rb'"(?:' + _IDS + rb')"\s*:')


def kind_of(path: Path, name: str) -> tuple[str, str]:
    """Kind of a file, or '' and the reason why it has none; names count only where lines do not decide."""
    if prepare.is_list(path, name):
        return LIST, ""
    head = Head.of_file(path, ONE_LINE)
    kind = _BY_LINES.get(kind_of_lines(head), "")
    if not kind and fits(head, "run") and fits(head, "qrels"):
        # Topic, docno and a whole number: a rank or a grade.
        kind = QRELS if NAMED[QRELS].search(name) else RUN
    if not kind and (other := named(head.block, "topics")):
        return "", f"it is {other[0]}"
    try:
        next(plain_blocks(path, ONE_LINE), b"")
    except (Invalid, TooLarge) as error:
        return "", error.message
    if kind:
        return kind, ""
    if not head.block.strip():
        return "", "it is empty"
    if b"\0" in head.block:
        return "", "it is not text"
    form = forms.form(head.block)
    if form in (forms.JSON, forms.JSON_LINES):
        is_sure = _HAS_ID.search(head.block) is not None
    else:
        is_sure = form not in forms.GUESSED and bool(head.lines)
    if is_sure or (form not in forms.REFUSED and NAMED[TOPICS].search(name)):
        return TOPICS, ""
    return "", "its lines are not topics, judgments or a run" if head.lines else "it contains only comments"


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderRequest:
    """The task's name, and the limits for reading its run files."""

    slug: str
    name: str
    limits: Limits = Limits()


def prepared(files: BundleFiles, detected: FoundTask, request: FolderRequest, folder: Path) -> PreparedTask:
    """Topics and judgments, read without a session; folder takes a file of topics if absent."""
    topics = files.file(detected.topics_path) if detected.topics_path else _titleless(detected.topics, folder)
    draft = TaskDraft(
        slug=request.slug,
        name=request.name,
        topics=topics,
        qrels=files.file(detected.qrels_path) if detected.qrels_path else None,
        qrels_name=Path(detected.qrels_path).name,
        depth=detected.depth,
        map=detected.mapping,
    )
    return drafts.prepare(draft)


def make_bundle(
    session: Session,
    viewer: Viewer,
    files: BundleFiles,
    task: PreparedTask,
    runs: tuple[FoundRun, ...],
    limits: Limits,
    progress: Progress = lambda _: None,
) -> None:
    """Store and publish the task, then add its runs; the caller's transaction holds all of it or nothing.

    For accounts that may create tasks: organisers file runs for any team in their tasks. Raises Conflict
    where the slug is taken, Invalid for a run that is not accepted after all.
    """
    # A large run takes longer to be packed than a page's transaction may wait.
    unlimited(session.connection())
    slug = task.draft.slug
    created_task = drafts.create(session, viewer, task)
    maker = replace(viewer, organises=viewer.organises | {created_task.id})
    drafts.publish(session, maker, slug)
    for run in runs:
        progress(run.path)
        team_id = teams.ensure(session, maker, run.team, created_task.id)
        rules = runs_limits.rules_for(session, maker, slug, team_id, any_team=True)
        file = prepare.prepare(files.file(run.path), run.path, rules, limits)
        delivery = Delivery(
            sender=maker,
            slug=slug,
            team_id=team_id,
            file=file,
            run_request=RunRequest(run.name, run.kind),
            any_team=True,
        )
        sent = uploads.submit(session, delivery)
        if sent.run_id is None:
            raise Invalid(f"{run.path} was not accepted.", sent.report.problems if sent.report else ())


def _titleless(topics: tuple[str, ...], folder: Path) -> Path:
    path = folder / "topics.jsonl"
    path.write_text("".join(f"{json.dumps({'id': topic})}\n" for topic in topics), encoding="utf-8")
    return path
