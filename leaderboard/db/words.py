"""The words that runs, teams and topics are searched by, kept as their rows are written."""

from typing import Any

from sqlalchemy import ColumnElement, Connection, ForeignKey, Index, and_, delete, event, insert, select
from sqlalchemy.orm import InstrumentedAttribute, Mapped, Mapper, Session, attributes, mapped_column

from leaderboard.db.accounts import Team
from leaderboard.db.engine import Base, Bytewise
from leaderboard.db.runs import Run
from leaderboard.db.tasks import Topic

LONGEST, MOST = 40, 200
"""Characters of a word, and words of a run, team or topic, that are kept."""
AT_ONCE = 10_000
"""Words of topics that one statement writes."""
LAST = "\U0010ffff"
IDEOGRAPHS = "\u2e80"
"""Here begin the letters of scripts without spaces; a word may begin at each."""


class RunWord(Base):
    """A word of a run's name, tag or description, as `beginnings` has it."""

    __tablename__ = "run_word"
    __table_args__ = (Index("ix_run_word_word_run_id", "word", "run_id"),)

    run_id: Mapped[int] = mapped_column(ForeignKey("run.id", ondelete="CASCADE"), primary_key=True)
    word: Mapped[str] = mapped_column(Bytewise, primary_key=True)


class TeamWord(Base):
    """A word of a team's name."""

    __tablename__ = "team_word"
    __table_args__ = (Index("ix_team_word_word_team_id", "word", "team_id"),)

    team_id: Mapped[int] = mapped_column(ForeignKey("team.id", ondelete="CASCADE"), primary_key=True)
    word: Mapped[str] = mapped_column(Bytewise, primary_key=True)


class TopicWord(Base):
    """A word of a topic's id or title."""

    __tablename__ = "topic_word"
    __table_args__ = (Index("ix_topic_word_word_topic_id", "word", "topic_id"),)

    topic_id: Mapped[int] = mapped_column(ForeignKey("topic.id", ondelete="CASCADE"), primary_key=True)
    word: Mapped[str] = mapped_column(Bytewise, primary_key=True)


def beginnings(*texts: str) -> list[str]:
    """The parts of texts that a search finds by how they begin, without case, in order of the texts.

    A part begins after a blank, at a letter or digit after a sign, and where letters and digits meet; it ends
    at the next blank.

    >>> beginnings("BM25.query-x", "BM25 a")
    ['bm25.query-x', '25.query-x', 'query-x', 'x', 'bm25', '25', 'a']
    """
    parts: dict[str, None] = {}
    for word in " ".join(texts).casefold().split():
        for at, letter in enumerate(word):
            before = word[at - 1] if at else " "
            if at and not (letter.isalnum() and (_kind(before) != _kind(letter) or letter >= IDEOGRAPHS)):
                continue
            parts[word[at : at + LONGEST]] = None
            if len(parts) == MOST:
                return list(parts)
    return list(parts)


def _kind(letter: str) -> str:
    return "letter" if letter.isalpha() else "digit" if letter.isdigit() else "sign"


def begins(column: InstrumentedAttribute[str], word: str) -> ColumnElement[bool]:
    """Whether a kept word begins with one that is searched for, which is without case; by the index."""
    start = word[:LONGEST]
    return and_(column >= start, column < start + LAST)


def keep_topics(session: Session, task_id: int) -> None:
    """Store the words of a task's topics, which are inserted by statements that no listener sees."""
    topics = session.execute(select(Topic.id, Topic.topic_id, Topic.title).where(Topic.task_id == task_id))
    rows = [{"topic_id": row_id, "word": word} for row_id, *texts in topics for word in beginnings(*texts)]
    for start in range(0, len(rows), AT_ONCE):
        session.execute(insert(TopicWord), rows[start : start + AT_ONCE])


def _listen(kind: type[Base], words: type[Base], key: str, names: tuple[str, ...]) -> None:
    """Index the words of rows of a kind when they are added and when one of these texts changes."""

    def made(mapper: Mapper[Any], connection: Connection, row: Any) -> None:
        connection.execute(delete(words).where(words.__table__.c[key] == row.id))
        if kept := beginnings(*(getattr(row, name) or "" for name in names)):
            connection.execute(insert(words), [{key: row.id, "word": word} for word in kept])

    def changed(mapper: Mapper[Any], connection: Connection, row: Any) -> None:
        if any(attributes.get_history(row, name).has_changes() for name in names):
            made(mapper, connection, row)

    event.listen(kind, "after_insert", made)
    event.listen(kind, "after_update", changed)


_listen(Run, RunWord, "run_id", ("name", "tag", "description"))
_listen(Team, TeamWord, "team_id", ("name",))
_listen(Topic, TopicWord, "topic_id", ("topic_id", "title"))
