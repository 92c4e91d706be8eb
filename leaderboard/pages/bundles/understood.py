"""What files that are to become a task were understood as, on one page, before anything is stored."""

from collections.abc import Iterable
from dataclasses import dataclass

from sqlalchemy import select
from sqlalchemy.orm import Session

from leaderboard.db.tables import Team
from leaderboard.errors import Invalid
from leaderboard.services import policy
from leaderboard.services.accounts import names
from leaderboard.services.bundles import checking, opening
from leaderboard.services.bundles.found import FoundRun, FoundTask
from leaderboard.services.bundles.opening import BundleFiles
from leaderboard.services.bundles.records import TABLES, Record
from leaderboard.services.bundles.taking import LEFT_OUT
from leaderboard.services.judges import imported as of_judges
from leaderboard.services.policy import Viewer
from leaderboard.services.tasks.drafts import PreparedTask
from leaderboard.tables.record import Column, Table, columns_from
from leaderboard.tables.words import counted

MOST_NAMED = 5
"""Files that are named of those left out for one reason."""
_TABLES = {table.name: table for table in TABLES}


@dataclass(frozen=True, slots=True, kw_only=True)
class UnderstoodTask:
    """A task that is about to be made: its facts in words, its runs, what is left out, what is in doubt."""

    is_export: bool
    name: str
    slug: str
    facts: tuple[tuple[str, str], ...]
    runs: tuple[FoundRun, ...]
    left_out: tuple[tuple[str, str], ...]
    """Why, and which files or rows."""
    doubts: tuple[str, ...]
    """What somebody should look at before saying yes."""


def of_folder(found: FoundTask, task: PreparedTask) -> UnderstoodTask:
    """A folder of topics, judgments and runs that no export wrote."""
    source = found.topics_path or "the judgments, without titles"
    unknown = len(set(found.judged) - set(found.topics))
    stray = f"; {unknown:,} of these are no topics" if unknown else ""
    judged = f"{found.judgments:,} of {len(found.judged):,} topics, from {found.qrels_path}{stray}"
    return UnderstoodTask(
        is_export=False,
        name=task.draft.name,
        slug=task.draft.slug,
        facts=(
            ("Topics", f"{len(found.topics):,}, from {source}"),
            ("Judgments", judged if found.qrels_path else "none; runs wait for them"),
            ("Runs", f"{len(found.runs):,}, at most {found.depth:,} documents a topic"),
            *((("Teams", f"from {found.list_path}"),) if found.list_path else ()),
            ("Measures", f"{', '.join(task.measures)}; ranked by {task.primary}"),
            *(("How it was read", note) for note in found.read_as),
        ),
        runs=found.runs,
        left_out=_by_reason(found.left_out.items()),
        doubts=found.doubts,
    )


def of_export(session: Session, viewer: Viewer, files: BundleFiles, slug: str = "") -> UnderstoodTask:
    """A task that an export wrote; its digests are compared first. slug: the one wished for, '' its own.

    Raises Invalid where it is not whole, or not a task.
    """
    policy.require_creator(viewer)
    opening.require_whole(files)
    task = next(iter(_rows(files, "task")), None)
    if task is None:
        raise Invalid("The bundle has no record of the task itself. Get the bundle anew.")
    teams = {row["id"]: str(row.get("name", "")) for row in _rows(files, "teams")}
    known = _known_teams(session, teams.values())
    doubts = (
        [f"Runs of {', '.join(known)} become theirs: this site has teams of these names."] if known else []
    )
    doubts += [*_unscored(session, viewer, files), *checking.left_behind(files)]
    counts = {
        name: sum(1 for _ in _rows(files, name)) for name in ("topics", "revisions", "phases", *LEFT_OUT)
    }
    left_out = (
        [] if viewer.is_operator or viewer.operates else [
            (what, f"{counts[name]:,}") for name, what in LEFT_OUT.items() if _is_lost(name, counts[name])
        ]
    )  # fmt: skip
    return UnderstoodTask(
        is_export=True,
        name=str(task.get("name", "")),
        slug=slug or str(task.get("slug", "")),
        facts=(
            ("Topics", f"{counts['topics']:,}"),
            ("Judgments", f"{counts['revisions']:,} revisions"),
            ("Phases", f"{counts['phases']:,}"),
            ("Teams", ", ".join(teams.values()) or "none"),
            ("Shown", "to everybody at once" if task.get("published_at") else "as a draft, to you only"),
        ),
        runs=tuple(_run(row, teams) for row in _rows(files, "runs")),
        left_out=tuple(left_out),
        doubts=tuple(doubts),
    )


def _unscored(session: Session, viewer: Viewer, files: BundleFiles) -> list[str]:
    """What becomes of labels of judges that cannot be scored here, in a sentence; none where they can."""
    boards = [row for row in _rows(files, "runs") if row.get("boards")]
    newest = max(_rows(files, "revisions"), key=lambda row: row["id"], default=None)
    if not boards or newest is None:
        return []
    file = of_judges.BundleText(str(newest.get("file")), files.file(newest.get("file")))
    if of_judges.is_here(session, viewer, file):
        return []
    named = ", ".join(str(row.get("name", "")) for row in boards[:MOST_NAMED])
    is_believed = viewer.is_operator or viewer.operates
    fate = (
        "the boards that they made count as they came"
        if is_believed
        else "these judges have no rank until the task that the reference is from is here and chosen again"
    )
    return [
        f"Labels of {counted(len(boards), 'judge')} ({named}) cannot be scored here, as the runs of the "
        f"reference are not on this site: {fate}."
    ]


def table(page: UnderstoodTask) -> Table[FoundRun]:
    """The runs that the task will have."""
    columns = columns_from(
        FoundRun,
        Column("run", lambda row: row.name, "Run"),
        "team kind topics",
        Column("file", lambda row: row.path, "File"),
    )
    return Table("runs", "Runs", columns, page.runs)


def _is_lost(name: str, count: int) -> bool:
    """Whether rows of a table are missed: the newest edition is built anew."""
    return count > (1 if name == "editions" else 0)


def _rows(files: BundleFiles, name: str) -> Iterable[Record]:
    return (record for _, record in checking.read(files, _TABLES[name]))


def _run(row: Record, teams: dict[int, str]) -> FoundRun:
    team, topics = row.get("team_id"), row.get("topics")
    return FoundRun(
        name=str(row.get("name", "")),
        team=teams.get(team, "") if isinstance(team, int) else "",
        kind=str(row.get("kind", "")),
        topics=topics if isinstance(topics, int) else 0,
        path=str(row.get("file", "")),
    )


def _known_teams(session: Session, given: Iterable[str]) -> list[str]:
    """The names that teams of the site have already."""
    canonical = {names.canonical(name): name for name in given}
    found = session.scalars(select(Team.canonical).where(Team.canonical.in_(canonical)))
    return sorted(canonical[each] for each in found if each is not None)


def _by_reason(left_out: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    """Why files were left out, each reason with the files that it holds for."""
    reasons: dict[str, list[str]] = {}
    for path, why in left_out:
        reasons.setdefault(why, []).append(path)
    return tuple(
        (
            why,
            ", ".join(paths[:MOST_NAMED])
            + (f" and {len(paths) - MOST_NAMED:,} more" * (len(paths) > MOST_NAMED)),
        )
        for why, paths in reasons.items()
    )
