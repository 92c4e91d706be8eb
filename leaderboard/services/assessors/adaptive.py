"""The next document of a pool whose next document depends on the judgments so far."""

import json
import threading
from collections import OrderedDict
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from hashlib import sha256

from sqlalchemy.orm import Session

from leaderboard.db.tables import Pool, Task
from leaderboard.pooling.judge import Judge
from leaderboard.pooling.methods import method, start
from leaderboard.services.rankings.tops import topic_seed, topic_tops

TOPICS_KEPT = 16
"""Topics held in memory, about a megabyte each for every fifty runs of a thousand documents."""
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

        grades: docno -> grade of what is judged, by whomever; passed: documents not to be given now, as
        they were skipped: those teach the method nothing.
        """
        judged = {
            place: PASSED_OVER
            for docno, place in self.place.items()
            if docno not in allowed or docno in passed
        }
        judged.update(
            {self.place[docno]: max(grade, 0) for docno, grade in grades.items() if docno in self.place}
        )
        found = self.judge.next(judged, level)
        return None if found is None else self.docnos[found]


class _Kept:
    """The topics used last; for several threads."""

    def __init__(self) -> None:
        self._topics: OrderedDict[str, LiveTopic] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, digest: str) -> LiveTopic | None:
        """The topic, or None."""
        with self._lock:
            found = self._topics.get(digest)
            if found is not None:
                self._topics.move_to_end(digest)
            return found

    def put(self, digest: str, topic: LiveTopic) -> LiveTopic:
        """Keep the topic and give it back."""
        with self._lock:
            self._topics[digest] = topic
            while len(self._topics) > TOPICS_KEPT:
                self._topics.popitem(last=False)
        return topic


_kept = _Kept()


def live_topic(session: Session, task: Task, pool: Pool, topic_id: str) -> LiveTopic:
    """Who gives a topic's documents; read once and kept, as nothing that it depends on changes."""
    digest = _digest(session, pool, task, topic_id)
    found = _kept.get(digest)
    if found is not None:
        return found
    bound = method(pool.method)
    tops = topic_tops(session, pool.run_ids, topic_id, bound.reach or task.depth, task.dialect)
    docnos = tuple(tops.docno(place) for place in range(len(tops.docnos)))
    judge = start(bound, tops.rankings, topic_seed(pool.seed, topic_id), scores=tops.scores)
    return _kept.put(digest, LiveTopic(judge, docnos, {docno: place for place, docno in enumerate(docnos)}))


def _digest(session: Session, pool: Pool, task: Task, topic_id: str) -> str:
    """Of what the topic depends on: the pool and the database it is in."""
    facts = [
        *(str(session.get_bind().engine.url), pool.id, pool.created_at.isoformat()),
        *(pool.method, pool.seed, pool.run_ids, task.depth, task.dialect, topic_id),
    ]
    return sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()
