"""One run as a reader sees it: what it is, where its scores come from, what it got on every topic."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy.orm import Session

from leaderboard.db.tables import Edition, QrelsRevision, Upload
from leaderboard.errors import Problem
from leaderboard.measures.grammar import parse
from leaderboard.pages.runs import files, profiles
from leaderboard.pages.runs.files import Provenance
from leaderboard.pages.runs.profiles import Asked, Profile
from leaderboard.pages.runs.scores import MeasureValue, among_ranked
from leaderboard.pages.runs.topics import TopicScores
from leaderboard.services import policy
from leaderboard.services.boards import board as boards
from leaderboard.services.evaluations import score
from leaderboard.services.evaluations.columns import MeasureColumn, column
from leaderboard.services.evaluations.shown import Basis, shown_edition
from leaderboard.services.jobs import queue
from leaderboard.services.jobs.queue import RunState
from leaderboard.services.policy import Sight, Viewer
from leaderboard.services.runs import facts as run_facts
from leaderboard.services.runs import primary_runs
from leaderboard.services.runs.facts import COST_OF, Fact, header_of
from leaderboard.services.statistics.standings import Place
from leaderboard.stats.pairs.methods import method
from leaderboard.trec.facts.fields import FIELD_OF
from leaderboard.trec.runs.check import Report


@dataclass(frozen=True, slots=True)
class RunPage:
    """What a run's page shows; scores are empty where they are held back, not there yet or withdrawn."""

    id: int
    name: str
    team: str
    kind: str
    description: str
    facts: tuple[Fact, ...]
    """What is known of how it was made and what it cost."""
    header: dict[str, Any]
    """The header of its file, nested as it was written."""
    task: str
    slug: str
    topics_run: int
    entries: int
    deepest: int
    order_differs: bool
    withdrawn_at: datetime | None
    withdrawn_why: str
    state: RunState
    basis: Basis | None
    primary: str
    measures: tuple[MeasureValue, ...]
    profile: Profile | None
    """None for whom scores by topic are not shown, and while there are none."""
    provenance: Provenance | None
    """None for whom the file's facts are not shown."""
    warnings: tuple[Problem, ...]
    upload_id: int | None
    is_own: bool
    may_withdraw: bool
    is_primary: bool
    """Whether its team declared it its primary run."""
    may_declare: bool
    place: Place | None
    """Among the ranked runs by the primary measure; None where that cannot be said."""
    comparison: str
    """The test and correction of place, in words."""
    sight: Sight

    @property
    def topics(self) -> tuple[TopicScores, ...]:
        """The scores by topic, empty where there are none to show."""
        return self.profile.topics if self.profile else ()

    @property
    def is_scored(self) -> bool:
        """Whether there is a value by some measure."""
        return any(each.value is not None for each in self.measures)


def run_page(session: Session, viewer: Viewer, run_id: int, asked: Asked | None = None) -> RunPage:
    """The run's page; raises NotFound where there is none or the viewer may not know of it."""
    run, task, sight = policy.visible_run(session, viewer, run_id)
    is_own = policy.owns(viewer, run.team_id) or sight.organises
    upload = session.get_one(Upload, run.upload_id)
    shown = shown_edition(session, task, sight)
    origin = files.provenance(session, viewer, task, run, sight)
    measures: tuple[MeasureValue, ...] = ()
    profile, place, comparison = None, None, ""
    if shown.edition is not None and run.withdrawn_at is None:
        board = boards.board(session, viewer, task.slug)
        measures = among_ranked(board, run.id)
        place, comparison = board.places.get(run.id), method(board.comparison).title
        profile = profiles.profile(session, task, run, origin, shown, board, asked or Asked())
    report = Report.from_json(upload.report) if upload.report is not None and is_own else None
    state = queue.run_states(session, [run.id])[run.id]
    if not sight.means and state.state != "withdrawn":
        state = RunState("valid")
    is_primary = primary_runs.is_declared(session, run)
    may_know = sight.details or is_own
    return RunPage(
        id=run.id,
        name=run.name,
        team=policy.team_names(session, viewer, task).get(run.team_id, ""),
        kind=run.kind,
        description=run.description,
        facts=known_facts(run.details, origin.masked) if may_know else (),
        header=header_of(run.details) if may_know and not origin.masked else {},
        task=task.name,
        slug=task.slug,
        topics_run=run.topics,
        entries=run.entries,
        deepest=run.deepest,
        order_differs=run.order_differs and may_know,
        withdrawn_at=run.withdrawn_at,
        withdrawn_why=run.withdrawn_why,
        state=state,
        basis=shown.basis,
        primary=shown.edition.primary_measure if shown.edition is not None else task.primary_measure,
        measures=measures,
        profile=profile,
        provenance=origin if may_know else None,
        warnings=report.warnings if report else (),
        upload_id=upload.id if is_own else None,
        is_own=is_own,
        may_withdraw=is_own and run.withdrawn_at is None,
        is_primary=is_primary and (sight.means or is_own),
        may_declare=primary_runs.may_declare(viewer, run) and not is_primary,
        place=place,
        comparison=comparison,
        sight=sight,
    )


def known_facts(details: dict[str, Any], masked: bool) -> tuple[Fact, ...]:
    """The facts that forms ask for, without those that tell whose run it is where that is masked."""
    asked = tuple(each for each in run_facts.facts(details) if each.key in FIELD_OF or each.key in COST_OF)
    return run_facts.nameless(asked) if masked else asked


def topic_scores(
    session: Session, run_id: int, edition: Edition, topic_id: str
) -> tuple[tuple[MeasureColumn, float], ...]:
    """What a run got on one topic, in the order of the measures; empty where it is not scored or judged."""
    order = session.get_one(QrelsRevision, edition.revision_id).topics
    if topic_id not in order:
        return ()
    place = order.index(topic_id)
    scored = score.stored(session, run_id, edition)
    found = {measure: float(each.scores[place]) for measure, each in scored.items()}
    columns = measure_columns([each["key"] for each in edition.measures])
    return tuple((column, found[column.key]) for column in columns if column.key in found)


def measure_columns(keys: list[str]) -> tuple[MeasureColumn, ...]:
    """Column heads of the measures."""
    return tuple(column(parse(key)) for key in keys)
