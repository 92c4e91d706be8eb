"""Rows to sessions: where one ends, what became of users, and packing."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from leaderboard.errors import Invalid, LeaderboardError
from leaderboard.trec.clicks import sessions
from leaderboard.trec.clicks.logs import ClickLog
from leaderboard.trec.clicks.sessions import (
    LogSessions,
    SessionsRead,
    TopicSessions,
    joined,
    keyed_hash,
    pack_sessions,
    read_sessions,
    unpack_sessions,
)

KEY = b"k" * 32
TOPICS = {"1": "1", "red cars": "1", "2": "2"}


def read(
    folder: Path, text: str, heading: str = "user,query,document,rank,clicked,time", key: bytes | None = KEY
) -> SessionsRead:
    """The sessions of rows that stand one after the other, separated by blanks."""
    path = folder / "log.csv"
    path.write_text("\n".join([heading, *text.split("|")]))
    return read_sessions(ClickLog(path), TOPICS.get, key)


def shown(topic: TopicSessions) -> list[str]:
    """Each session as its documents, clicked ones in capitals."""
    starts = topic.sessions.starts.tolist()
    names = [
        topic.docnos[document].upper() if click else topic.docnos[document]
        for document, click in zip(
            topic.sessions.documents.tolist(), topic.sessions.clicked.tolist(), strict=True
        )
    ]
    return ["".join(names[start:end]) for start, end in pairwise(starts)]


def test_a_users_rows_of_a_topic_are_one_session(tmp_path: Path) -> None:
    """Two users' rows among each other, one query by its title and one by its id; rows in any order."""
    rows = "ann,red cars,b,2,1,|bob,1,a,1,0,|ann,1,a,1,0,|bob,1,b,2,0,|bob,2,a,1,1,"
    log = read(tmp_path, rows).kept
    assert shown(log.topics["1"]) == ["aB", "ab"]
    assert shown(log.topics["2"]) == ["A"]
    assert log.topics["1"].sessions.last.tolist() == [2, 0]
    assert log.count == 3


def test_the_same_rank_or_document_again_is_another_session(tmp_path: Path) -> None:
    """One user searches the same three times."""
    rows = "ann,1,a,1,0,|ann,1,b,2,1,|ann,1,b,1,0,|ann,1,c,2,1,|ann,1,a,2,1,"
    assert sorted(shown(read(tmp_path, rows).kept.topics["1"])) == ["A", "aB", "bC"]


def test_half_an_hour_is_a_new_session(tmp_path: Path) -> None:
    """The second page of results half an hour and a second later is not of the same session."""
    rows = "ann,1,a,1,0,1000|ann,1,b,2,1,2800|ann,1,c,3,1,4601"
    assert shown(read(tmp_path, rows).kept.topics["1"]) == ["aB", "C"]


def test_without_users_a_session_ends_where_ranks_begin_again(tmp_path: Path) -> None:
    """Three rankings of different length."""
    rows = "1,a,1,0|1,b,2,1|1,a,1,1|1,c,2,0|1,d,3,0|1,e,3,1"
    log_read = read(tmp_path, rows, "topic,document,rank,clicked")
    assert shown(log_read.kept.topics["1"]) == ["aB", "Acd", "E"]
    assert log_read.kept.users == ()


def test_the_name_of_a_session_decides(tmp_path: Path) -> None:
    """Rows of two sessions among each other; a click that comes later than its document was shown."""
    rows = "s1,1,a,1,0|s2,1,a,1,0|s1,1,b,2,0|s2,1,c,2,1|s1,1,b,2,1"
    assert shown(read(tmp_path, rows, "session,topic,document,rank,clicked").kept.topics["1"]) == ["aB", "aC"]


@pytest.mark.parametrize(
    ("row", "rule"),
    [
        ("s1,1,a,2,0", "Its session shows the document at rank 1 already."),
        ("s1,1,b,1,0", "Its session shows another document at rank 1 already."),
    ],
)
def test_a_session_by_name_must_not_contradict_itself(tmp_path: Path, row: str, rule: str) -> None:
    """One document at two ranks, or two at one."""
    with pytest.raises(Invalid) as caught:
        read(tmp_path, f"s1,1,a,1,0|{row}", "session,topic,document,rank,clicked")
    assert [(problem.line, problem.rule) for problem in caught.value.problems] == [(3, rule)]


def test_the_last_click_is_the_latest_where_times_are_known(tmp_path: Path) -> None:
    """The third was clicked before the first; of clicks at one time the lowest was the last."""
    rows = "ann,1,a,1,1,100|ann,1,b,2,0,100|ann,1,c,3,1,90|bob,1,a,1,1,100|bob,1,b,2,1,100"
    assert read(tmp_path, rows).kept.topics["1"].sessions.last.tolist() == [1, 2]


def test_what_matches_no_topic_is_counted_and_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Most frequent first; beyond the list only counted; a topic column that fails leaves the query."""
    monkeypatch.setattr(sessions, "LISTED", 1)
    log_read = read(tmp_path, "ann,x,a,1,0,|ann,x,b,2,0,|ann,Red cars,a,1,0,|ann,1,a,1,0,")
    assert (log_read.rows, log_read.unknown_rows, log_read.unknown) == (4, 3, {"x": 2})
    both = read(tmp_path, "77,red cars,a,1,1", "topic,query,document,rank,clicked")
    assert shown(both.kept.topics["1"]) == ["A"]


def test_users_are_hashed_or_dropped(tmp_path: Path) -> None:
    """Who is the same stays the same; without a key no one is kept, but sessions stay apart."""
    rows = "ann,1,a,1,1,|bob,1,a,1,0,|ann,2,a,1,0,"
    kept = read(tmp_path, rows).kept
    assert kept.users == (keyed_hash(KEY, "ann"), keyed_hash(KEY, "bob"))
    assert kept.topics["1"].sessions.users.tolist() == [0, 1]
    assert kept.topics["2"].sessions.users.tolist() == [0]
    dropped = read(tmp_path, rows, key=None).kept
    assert dropped.users == ()
    assert dropped.topics["1"].sessions.users.tolist() == [-1, -1]


def test_of_times_the_day_is_kept(tmp_path: Path) -> None:
    """Days since 1970, -1 where no time is said."""
    rows = "ann,1,a,1,1,1970-01-02T23:59:00Z|bob,1,a,1,0,"
    assert read(tmp_path, rows).kept.topics["1"].days.tolist() == [1, -1]


def test_too_many_open_sessions_end_the_oldest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its later rows are a session of their own."""
    monkeypatch.setattr(sessions, "MOST_OPEN", 1)
    rows = "ann,1,a,1,0,|bob,1,a,1,1,|ann,1,b,2,1,"
    assert shown(read(tmp_path, rows).kept.topics["1"]) == ["a", "A", "B"]


def equal(one: LogSessions, other: LogSessions) -> bool:
    """Whether two logs are the same to the last value."""
    return (one.users, list(one.topics)) == (other.users, list(other.topics)) and all(
        of_topic.docnos == other.topics[topic].docnos
        and np.array_equal(of_topic.days, other.topics[topic].days)
        and all(
            np.array_equal(a, b) for a, b in zip(of_topic.sessions, other.topics[topic].sessions, strict=True)
        )
        for topic, of_topic in one.topics.items()
    )


def test_packing_and_back(tmp_path: Path) -> None:
    """All values come back; the bytes hold no user's name."""
    rows = "ann,1,a,1,1,86400|ann,1,ü,9999,0,86400|bob,2,a,1,0,"
    kept = read(tmp_path, rows).kept
    packed = pack_sessions(kept)
    assert equal(unpack_sessions(packed), kept)
    assert equal(unpack_sessions(pack_sessions(LogSessions({}, ()))), LogSessions({}, ()))
    with pytest.raises(LeaderboardError, match="another version"):
        unpack_sessions(b"LBC0" + packed[4:])


def test_logs_are_joined_by_document_and_user(tmp_path: Path) -> None:
    """Two logs that number documents and users otherwise; one without users."""
    one = read(tmp_path, "ann,1,a,1,0,|ann,1,b,2,1,|bob,2,z,1,1,").kept
    other = read(tmp_path, "bob,1,b,1,0,|bob,1,c,2,1,|ann,1,b,1,1,").kept
    third = read(tmp_path, "ann,1,a,1,1,", key=None).kept
    whole = joined("1", [one, other, third])
    assert shown(whole) == ["aB", "bC", "B", "A"]
    assert whole.sessions.users.tolist() == [0, 1, 0, -1]
    assert shown(joined("2", [one, other])) == ["Z"]
