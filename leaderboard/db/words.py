"""The words that runs, teams and topics are searched by, kept as their rows are written."""

from typing import Any

from sqlalchemy import ColumnElement, Connection, ForeignKey, Index, and_, delete, event, insert, select
from sqlalchemy.orm import InstrumentedAttribute, Mapped, Mapper, Session, attributes, mapped_column

from leaderboard.db.accounts import Team
from leaderboard.db.base import Base, Bytewise
from leaderboard.db.runs import Run
from leaderboard.db.tasks import Topic

LONGEST, MOST = 40, 200
"""Characters of a word, and words of a run, team or topic, that are kept."""
AT_ONCE = 10_000
"""Words of topics that one statement writes."""
LAST = "\U0010ffff"
IDEOGRAPHS = "\u2e80"
"""From here on stand letters of writings without blanks: a word may begin at each."""


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
    found: dict[str, None] = {}
    for word in " ".join(texts).casefold().split():
        for at, letter in enumerate(word):
            before = word[at - 1] if at else " "
            if at and not (letter.isalnum() and (_kind(before) != _kind(letter) or letter >= IDEOGRAPHS)):
                continue
            found[word[at : at + LONGEST]] = None
            if len(found) == MOST:
                return list(found)
    return list(found)


def _kind(letter: str) -> str:
    return "letter" if letter.isalpha() else "digit" if letter.isdigit() else "sign"


def begins(column: InstrumentedAttribute[str], word: str) -> ColumnElement[bool]:
    """Whether a kept word begins with one that is searched for, which is without case; by the index."""
    start = word[:LONGEST]
    return and_(column >= start, column < start + LAST)


def keep_topics(session: Session, task_id: int) -> None:
    """Store the words of a task's topics, which are written by statements that no listener sees."""
    topics = session.execute(select(Topic.id, Topic.topic_id, Topic.title).where(Topic.task_id == task_id))
    rows = [{"topic_id": row_id, "word": word} for row_id, *texts in topics for word in beginnings(*texts)]
    for start in range(0, len(rows), AT_ONCE):
        session.execute(insert(TopicWord), rows[start : start + AT_ONCE])


def _run_words(run: Run) -> list[str]:
    return beginnings(run.name, run.tag, run.description or "")


def _team_words(team: Team) -> list[str]:
    return beginnings(team.name)


def _keep(kind: type[Base], key: str, connection: Connection, row_id: int, words: list[str]) -> None:
    table = kind.__table__
    connection.execute(delete(kind).where(table.c[key] == row_id))
    if words:
        connection.execute(insert(kind), [{key: row_id, "word": word} for word in words])


@event.listens_for(Run, "after_insert")
def _run_made(mapper: Mapper[Any], connection: Connection, run: Run) -> None:
    _keep(RunWord, "run_id", connection, run.id, _run_words(run))


@event.listens_for(Run, "after_update")
def _run_changed(mapper: Mapper[Any], connection: Connection, run: Run) -> None:
    if any(attributes.get_history(run, name).has_changes() for name in ("name", "tag", "description")):
        _keep(RunWord, "run_id", connection, run.id, _run_words(run))


@event.listens_for(Team, "after_insert")
def _team_made(mapper: Mapper[Any], connection: Connection, team: Team) -> None:
    _keep(TeamWord, "team_id", connection, team.id, _team_words(team))


@event.listens_for(Team, "after_update")
def _team_changed(mapper: Mapper[Any], connection: Connection, team: Team) -> None:
    if attributes.get_history(team, "name").has_changes():
        _keep(TeamWord, "team_id", connection, team.id, _team_words(team))
