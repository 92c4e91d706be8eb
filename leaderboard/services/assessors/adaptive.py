"""The next document of a pool whose next document depends on the judgments so far."""

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from hashlib import sha256

from sqlalchemy.orm import Session

from leaderboard.db.tables import Pool, Task
from leaderboard.memory import keep_by
from leaderboard.pooling.judge import Judge
from leaderboard.pooling.methods import method, start
from leaderboard.services.qrels import left_out
from leaderboard.services.rankings.tops import topic_seed, topic_tops

PASSED_OVER = -1
"""What the method is told of documents that are not to be given now."""


@dataclass(frozen=True, eq=False)
class LiveTopic:
    """A topic's documents and who gives them; nothing in it changes."""

    judge: Judge
    docnos: tuple[str, ...]
    place: Mapping[str, int]

    def next(
        self, grades: Mapping[str, int], allowed: Collection[str], passed: Collection[str], level: int
    ) -> str | None:
        """The document to judge next among those allowed, None where the pool or its budget is at its end.

        grades: docno -> grade of what is judged, by whichever assessor; passed: documents not to be given
        now, as they were skipped: those teach the method nothing.
        """
        judged = {
            place: PASSED_OVER
            for docno, place in self.place.items()
            if docno not in allowed or docno in passed
        }
        judged.update(
            {self.place[docno]: max(grade, 0) for docno, grade in grades.items() if docno in self.place}
        )
        place = self.judge.next(judged, level)
        return None if place is None else self.docnos[place]


def _digest(session: Session, task: Task, pool: Pool, topic_id: str) -> str:
    """A digest of all that the topic depends on.

    The method, seed and runs of a pool are never changed after it was made, and the rankings of a run are
    never changed, so a topic that was read once stays true. The address of the database and the moment the
    pool was made tell pools apart that have the same id, in two databases or one after the other.
    """
    facts = [
        str(session.get_bind().engine.url),
        pool.id,
        pool.created_at.isoformat(),
        pool.method,
        pool.seed,
        pool.run_ids,
        task.depth,
        task.dialect,
        topic_id,
    ]
    return sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()


# The lock is for the threads of the web server; a topic may be read twice at once, which does no harm.
@keep_by(_digest)
def live_topic(session: Session, task: Task, pool: Pool, topic_id: str) -> LiveTopic:
    """Who gives a topic's documents; read once and kept in memory."""
    bound = method(pool.method)
    gone = left_out.of_pool(session, pool).get(topic_id, frozenset())
    depth = bound.reach or task.depth
    tops = topic_tops(session, pool.run_ids, topic_id, depth, task.dialect, gone=gone)
    docnos = tuple(tops.docno(place) for place in range(len(tops.docnos)))
    judge = start(bound, tops.rankings, topic_seed(pool.seed, topic_id), scores=tops.scores)
    return LiveTopic(judge, docnos, {docno: place for place, docno in enumerate(docnos)})
