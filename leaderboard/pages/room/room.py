"""The judging room of a pool: what its judgments come to, live, for a screen that many people look at."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from sqlalchemy.orm import Session

from leaderboard.db.engine import now
from leaderboard.db.tables import Pool, Task
from leaderboard.memory import keep_by
from leaderboard.pages.room.agreement import RoomAgreement, room_agreement
from leaderboard.pages.room.orders import RunOrder, by_time, run_order
from leaderboard.pages.room.pace import AssessorPace, TopicProgress, paces, topics_done
from leaderboard.pages.room.scene import RoomAudience, RoomPool, room_pool
from leaderboard.services import policy
from leaderboard.services.assessors import coming, judged_pools, links, screens
from leaderboard.services.assessors.judged_pools import JudgedPool, PoolFacts
from leaderboard.services.evaluations.shown import Basis
from leaderboard.services.phase_rules import PhaseRule
from leaderboard.services.policy import ANONYMOUS, Viewer

AHEAD = 100
"""Judgments to come that are looked at, and judgments ago that the order is set against."""


@dataclass(frozen=True, slots=True)
class ComingLabels:
    """The judgments that come next, and all that assessors are still asked for."""

    soon: tuple[coming.ComingLabel, ...]
    left: int

    @property
    def documents(self) -> int:
        """How many documents the next judgments are of."""
        return len({(label.topic_id, label.docno) for label in self.soon})

    @property
    def topics(self) -> int:
        """How many topics these are of."""
        return len({label.topic_id for label in self.soon})


@dataclass(frozen=True, slots=True)
class RoomNumbers:
    """What depends on the labels alone."""

    judgments: int
    judged: int
    """Documents with a grade."""
    topics: tuple[TopicProgress, ...]
    agreement: RoomAgreement
    coming: ComingLabels
    order: RunOrder | None
    """None for the reason that the page gives."""


@dataclass(frozen=True, slots=True)
class JudgingRoom:
    """What is shown of a pool while it is judged."""

    pool: PoolFacts
    adaptive: bool
    for_organisers: bool
    """Whether it shows what only organisers may see."""
    can_see_more: bool
    """Whether the reader may have that shown, and it differs."""
    numbers: RoomNumbers
    paces: tuple[AssessorPace, ...]
    basis: Basis | None
    """What the present board rests on; None where it has no scores, or none to show."""
    why: str
    """Why there is no order; empty where there is."""
    at: datetime
    may_link: bool = False
    """Whether the reader may make a link for a screen."""
    linked_until: datetime | None = None
    """When the link for a screen ends; None where there is none, and for who may not make any."""

    @property
    def recent(self) -> int:
        """Judgments of the last ten minutes."""
        return sum(pace.recent for pace in self.paces)

    @property
    def name(self) -> str:
        """What its files are called."""
        return f"{self.pool.slug}-pool-{self.pool.number}-room"


def judging_room(
    session: Session, viewer: Viewer, slug: str, number: int, *, for_organisers: bool = False
) -> JudgingRoom:
    """The room of a pool as it is now; for whoever may see how its assessors agree.

    It shows of runs and scores what everybody may see, as everybody may be looking; for_organisers shows what
    the task's organisers see. Raises as `judged_pool`, and Forbidden for who may not see all of the task.
    """
    task, pool = links.seen_pool(session, viewer, slug, number)
    if for_organisers:
        policy.require(viewer, task, policy.reads)
    room = room_of(session, viewer, task, pool, for_organisers=for_organisers)
    if not policy.coordinates(viewer, task.id):
        return room
    return replace(room, may_link=True, linked_until=screens.works_until(session, pool, room.at))


def room_on_screen(session: Session, token: str) -> JudgingRoom:
    """The room that a link for a screen shows, as everybody may see it; raises NotFound for a dead link."""
    task, pool = screens.opened(session, token)
    return room_of(session, ANONYMOUS, task, pool)


def room_of(
    session: Session, viewer: Viewer, task: Task, pool: Pool, *, for_organisers: bool = False
) -> JudgingRoom:
    """The room of a pool that the viewer may see."""
    phases = policy.seen_task(session, viewer, task.slug).phases
    public = _everybody(session, task, phases)
    audience = public
    if for_organisers:
        audience = RoomAudience(viewer, policy.sight_by_rules(session, viewer, task, phases), sees_order=True)
    scene = room_pool(session, audience, task, pool)
    state, judged = judged_pools.live_pool(session, pool, scene.facts, scene.judges)
    at = now(session)
    return JudgingRoom(
        pool=scene.facts,
        adaptive=pool.adaptive,
        for_organisers=for_organisers,
        can_see_more=policy.reads(viewer, task.id) and (not public.sees_order or task.naming != "names"),
        numbers=_numbers(scene, judged, state, pool.adaptive),
        paces=paces(scene, judged, at),
        basis=scene.basis,
        why=scene.why,
        at=at,
    )


def _everybody(session: Session, task: Task, phases: Sequence[PhaseRule]) -> RoomAudience:
    """What visitors may see: the order where everything of the task is shown to them."""
    seen = policy.sight_by_rules(session, ANONYMOUS, task, phases)
    return RoomAudience(ANONYMOUS, seen, sees_order=seen.details and task.published_at is not None)


def _key(scene: RoomPool, _: JudgedPool, state: tuple[Any, ...], __: bool) -> tuple[Any, ...]:
    """A scene is compared as the object that it is: another one may have other runs."""
    return scene, state


# The lock is for the threads of the web server: everybody who looks at a room shares one reckoning a label.
@keep_by(_key)
def _numbers(scene: RoomPool, pool: JudgedPool, state: tuple[Any, ...], adaptive: bool) -> RoomNumbers:
    """What the labels of a moment come to; a twentieth of a second for 14 runs and 40 topics."""
    labels = by_time(pool.labels_of("human"))
    ahead = _coming(scene, pool, adaptive)
    order = None
    if scene.runs is not None and labels:
        since = min(AHEAD, len(labels) // 2)
        soon, later = ({(label.topic_id, label.docno) for label in part} for part in ahead)
        order = run_order(scene, scene.runs, pool, since, soon, later)
    return RoomNumbers(
        judgments=len(labels),
        judged=len({(label.topic_id, label.docno) for label in labels}),
        topics=topics_done(pool),
        agreement=room_agreement(labels, scene.facts),
        coming=ComingLabels(ahead[0], len(ahead[1])),
        order=order,
    )


def _coming(
    scene: RoomPool, pool: JudgedPool, adaptive: bool
) -> tuple[tuple[coming.ComingLabel, ...], Sequence[coming.ComingLabel]]:
    """The next judgments and all that are left; of an adaptive pool nobody knows the next."""
    given = {(label.judge.id, label.topic_id, label.docno) for label in pool.labels}
    left = coming.coming(scene.queues, given)
    return (() if adaptive else left[:AHEAD]), left
