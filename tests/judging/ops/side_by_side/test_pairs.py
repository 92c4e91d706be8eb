"""Two unlabelled rankings side by side: who is asked what, the coin, answers stored once, results."""

from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from sqlalchemy import func, select, update

from leaderboard.comparisons.page import pair as comparisons
from leaderboard.comparisons.page import pair_tables
from leaderboard.core.policy import ANONYMOUS, OPERATOR, Viewer
from leaderboard.db.engine import Database
from leaderboard.db.tables import Assessor, Run, SideBySide, Task
from leaderboard.errors import Conflict, Invalid, NotFound, OverQuota
from leaderboard.judging.ops import judging as assessors
from leaderboard.judging.ops import side_by_side
from leaderboard.judging.ops.side_by_side import AskedQuestion, ComparisonRequest, SentAnswer
from leaderboard.judging.page import side_by_side as side_by_side_desk
from leaderboard.judging.page.side_by_side import QuestionPage, Results
from tests.make import build
from tests.make.copies import built_once

ONE = {"1": ["a", "x", "c"], "2": ["y", "d"], "3": ["e", "f"]}
TWO = {"1": ["x", "a", "z"], "2": ["d"]}


@dataclass(frozen=True)
class Desk:
    """Two scored runs, one without ranking for topic 3, and two assessors with their links."""

    database: Database
    one: int
    two: int
    people: tuple[int, int]
    links: tuple[str, str]

    def ask(self, **options: object) -> int:
        """Ask both assessors to compare the two runs."""
        wanted = ComparisonRequest(self.one, (self.two,), self.people)
        changed = {**{name: getattr(wanted, name) for name in wanted.__slots__}, **options}
        with self.database.write() as session:
            return side_by_side.ask_pair(session, OPERATOR, "t", ComparisonRequest(**changed))

    def asked(self, person: int = 0) -> tuple[AskedQuestion, ...]:
        """The questions of an assessor with what is hidden from them."""
        with self.database.read() as session:
            return side_by_side.of_link(session, self.links[person]).asked

    def page(self, item: str, person: int = 0) -> QuestionPage:
        """A question as its assessor sees it."""
        with self.database.read() as session:
            return side_by_side_desk.question_page(session, self.links[person], item)

    def send(self, item: str, sent: SentAnswer, person: int = 0) -> str | None:
        """Save an answer as it is sent."""
        with self.database.write() as session:
            return side_by_side.save_question(session, self.links[person], item, sent)

    def prefer(self, topic: str, run: int | None, person: int = 0, ratings: tuple[int, int] = (3, 1)) -> None:
        """Answer a topic for a run, or for none; ratings are of the first and the second run."""
        (asked,) = (each for each in self.asked(person) if each.topic.topic_id == topic)
        left_is_one = asked.runs[0] == self.one
        verdict = "equal" if run is None else "left" if asked.runs[0] == run else "right"
        left, right = ratings if left_is_one else ratings[::-1]
        self.send(asked.item, SentAnswer(self.page(asked.item, person).key, verdict, left, right), person)

    def results(self, viewer: Viewer = OPERATOR, *, turned: bool = False) -> Results:
        """The results of the two, or of the two the other way round."""
        pair = (self.two, self.one) if turned else (self.one, self.two)
        with self.database.read() as session:
            return side_by_side_desk.results_of(session, viewer, "t", *pair)

    def stored(self) -> int:
        """How many answers were ever stored."""
        with self.database.read() as session:
            return session.scalars(select(func.count()).select_from(SideBySide)).one()


@pytest.fixture
@built_once
def desk(database: Database, tmp_path: Path) -> Desk:
    """A task with two runs and two assessors."""
    build.task(database, tmp_path, measures=("AP",))
    one, two = (build.run(database, tmp_path, each, name) for each, name in ((ONE, "one"), (TWO, "two")))
    build.drain(database)
    with database.write() as session:
        links = assessors.add_link(session, OPERATOR, "t", ["Ada", "Bob"])
    first, second = links
    return Desk(database, one, two, (first.assessor_id, second.assessor_id), (first.token, second.token))


def test_every_assessor_is_asked_every_topic(desk: Desk) -> None:
    """Two assessors and three topics are six answers; asking again asks for nothing more."""
    assert desk.ask() == 6
    assert {each.topic.topic_id for each in desk.asked()} == {"1", "2", "3"}
    assert desk.ask() == 0
    assert desk.ask(run=desk.two, others=(desk.one,)) == 0


def test_topics_can_be_chosen_drawn_and_shared_out(desk: Desk) -> None:
    """Chosen topics only; a sample of one; each topic by one of two assessors."""
    assert desk.ask(topics=("2", "1", "2"), each=1) == 2
    assert sorted(each.topic.topic_id for person in (0, 1) for each in desk.asked(person)) == ["1", "2"]
    assert [len(desk.asked(person)) for person in (0, 1)] == [1, 1]
    assert desk.ask(sample=3, each=1) <= 3


def test_a_sample_is_the_same_for_every_pair(desk: Desk, tmp_path: Path) -> None:
    """Two pairs of runs are compared on the same topics, each topic's pairs one after another."""
    three = build.run(desk.database, tmp_path, ONE, "three")
    assert desk.ask(others=(desk.two, three), sample=2, assessors=desk.people[:1]) == 4
    counts = Counter(each.topic.topic_id for each in desk.asked())
    assert sorted(counts.values()) == [2, 2]
    order = [each.topic.topic_id for each in desk.asked()]
    assert order[0] == order[1] != order[2] == order[3]


def test_what_cannot_be_asked_is_refused(desk: Desk) -> None:
    """Each wrong choice names its field, and nothing is stored."""
    wrong: tuple[dict[str, object], ...] = (
        *({"others": ()}, {"others": (999,)}, {"run": 999}, {"assessors": ()}, {"assessors": (999,)}),
        *({"topics": ("77",)}, {"sample": 0}, {"each": 0}),
    )
    for change in wrong:
        with pytest.raises(Invalid) as caught:
            desk.ask(**change)
        (name,) = change
        assert name.removesuffix("s") in {each.field.removesuffix("s") for each in caught.value.problems}
    assert desk.asked() == ()


def test_a_run_is_not_compared_with_itself_or_on_nothing(desk: Desk, tmp_path: Path) -> None:
    """The same run twice, and two runs of which neither has the topic, are refused."""
    with pytest.raises(Invalid):
        desk.ask(others=(desk.one,))
    empty = build.run(desk.database, tmp_path, {"1": ["a"]}, "short")
    with pytest.raises(Conflict, match="Neither two nor short"):
        desk.ask(run=desk.two, others=(empty,), topics=("3",))


def test_only_people_whose_link_works_are_asked(desk: Desk) -> None:
    """A machine and an assessor whose link was revoked cannot be chosen; a dead link opens nothing."""
    desk.ask()
    with desk.database.write() as session:
        task = session.scalars(select(Task)).one()
        machine = assessors.ensure(session, OPERATOR, task, "M", assessors.MACHINE, "model 1").id
        assessors.revoke_link(session, OPERATOR, "t", desk.people[1])
    for person in (machine, desk.people[1]):
        with pytest.raises(Invalid):
            desk.ask(assessors=(person,))
    with pytest.raises(NotFound, match="is invalid or has expired"):
        desk.asked(1)


def test_the_coin_is_fair_and_falls_the_same_again() -> None:
    """Over 2,000 tosses about half have the first run left; a toss depends on the key and what it is for."""
    tosses = [
        side_by_side.left_first(b"key", (1, 2), str(topic), person)
        for topic in range(200)
        for person in range(10)
    ]
    # Four standard deviations of a fair coin around 1,000.
    assert abs(sum(tosses) - 1000) < 90
    assert tosses[7] == side_by_side.left_first(b"key", (1, 2), "0", 7)
    other = [side_by_side.left_first(b"other", (1, 2), str(topic), 0) for topic in range(50)]
    assert other != [side_by_side.left_first(b"key", (1, 2), str(topic), 0) for topic in range(50)]


@pytest.mark.dialect
def test_left_and_right_stay_where_they_were(desk: Desk) -> None:
    """A page shows the runs as its coin fell, also when it is opened again, and the answer stores them so."""
    desk.ask()
    for asked in desk.asked():
        page = desk.page(asked.item)
        first, second = (ONE, TWO) if asked.left_first else (TWO, ONE)
        assert [each.docno for each in page.left.documents] == first.get(asked.topic.topic_id, [])
        assert [each.docno for each in page.right.documents] == second.get(asked.topic.topic_id, [])
        again = desk.page(asked.item)
        assert (again.asked.runs, again.number) == (page.asked.runs, page.number)
        assert (again.left, again.right, again.key) == (page.left, page.right, page.key)
        desk.send(asked.item, SentAnswer(page.key, "left", 4, 0))
    with desk.database.read() as session:
        rows = session.execute(select(SideBySide.topic_id, SideBySide.left_run_id, SideBySide.right_run_id))
        stored = {topic: (left, right) for topic, left, right in rows}
    assert stored == {asked.topic.topic_id: asked.runs for asked in desk.asked()}


@pytest.mark.dialect
def test_an_answer_is_stored_once_and_leads_on(desk: Desk) -> None:
    """Sent twice it is one; the way goes through all questions and ends."""
    desk.ask()
    first, second, third = (each.item for each in desk.asked())
    sent = SentAnswer(f"{first}-0", "left", 3, 1, " seen \n")
    assert [desk.send(first, sent) for _ in range(2)] == [second, second]
    assert desk.stored() == 1
    assert desk.page(first).given is not None
    assert desk.page(first).key == f"{first}-1"
    assert desk.send(third, SentAnswer(f"{third}-0", "equal", 2, 2)) == second
    assert desk.send(second, SentAnswer(f"{second}-0", "right", 0, 4)) is None


def test_an_answer_can_be_changed_and_both_are_kept(desk: Desk) -> None:
    """The last answer is in force; another one under a key that was used is refused."""
    desk.ask()
    item = desk.asked()[0].item
    desk.send(item, SentAnswer(f"{item}-0", "left", 3, 1))
    with pytest.raises(Conflict, match="another tab"):
        desk.send(item, SentAnswer(f"{item}-0", "right", 1, 3))
    desk.send(item, SentAnswer(f"{item}-1", "right", 1, 3))
    given = desk.page(item).given
    assert given is not None
    assert (given.verdict, given.left_satisfaction) == ("right", 1)
    with desk.database.read() as session:
        page = side_by_side_desk.answers_page(session, OPERATOR, "t")
        header, rows = side_by_side_desk.answers_table(page).data()
    assert [row[header.index("in_force")] for row in rows] == [False, True]
    assert desk.stored() == 2


def test_incomplete_answers_are_refused(desk: Desk) -> None:
    """A verdict that is none, a rating off the scale, a long note, a foreign key."""
    desk.ask()
    item = desk.asked()[0].item
    whole = SentAnswer(f"{item}-0", "left", 3, 1)
    wrong = (
        *(replace(whole, verdict="both"), replace(whole, right=5)),
        *(replace(whole, left=-1), replace(whole, note="x" * 2001)),
        *(replace(whole, key="elsewhere-0"), replace(whole, key="")),
    )
    for sent in wrong:
        with pytest.raises(Invalid):
            desk.send(item, sent)
    assert desk.stored() == 0


def test_nobody_answers_for_others_or_too_fast(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """The question of another assessor does not exist; more answers than anybody gives are refused."""
    desk.ask()
    item = desk.asked()[0].item
    for open_it in (
        lambda: desk.page(item, 1),
        lambda: desk.send(item, SentAnswer(f"{item}-0", "left", 1, 1), 1),
    ):
        with pytest.raises(NotFound):
            open_it()
    monkeypatch.setattr(side_by_side, "ANSWERS_A_MINUTE", 2)
    for number in range(2):
        desk.send(item, SentAnswer(f"{item}-{number}", "left", 1, 1))
    with pytest.raises(OverQuota):
        desk.send(item, SentAnswer(f"{item}-2", "left", 1, 1))


@pytest.mark.dialect
def test_a_withdrawn_run_is_not_shown_any_more(desk: Desk) -> None:
    """Its questions are gone from the assessors' lists."""
    desk.ask()
    with desk.database.write() as session:
        session.execute(update(Run).where(Run.id == desk.two).values(withdrawn_at=func.current_timestamp()))
    assert desk.asked() == ()


@pytest.mark.dialect
def test_pages_tell_nothing_of_runs(desk: Desk) -> None:
    """No field of a page holds a run's name or id beyond what the documents are."""
    desk.ask()
    with desk.database.write() as session:
        names = {desk.one: "unmistakable-one", desk.two: "unmistakable-two"}
        for run_id, name in names.items():
            session.execute(update(Run).where(Run.id == run_id).values(name=name, tag=name))
    for asked in desk.asked():
        shown = repr(desk.page(asked.item))
        assert "unmistakable" not in shown
        assert "score" not in shown
        assert "grade" not in shown
        assert "run" not in shown


def test_results_count_topics_by_majority(desk: Desk) -> None:
    """Ada and Bob on three topics: 1 for one by both, 2 split, 3 for one by Ada and equal by Bob.

    Topics: two wins and a tie, so p = 2 / 2^2; answers: four wins, a tie and a loss.
    """
    desk.ask()
    desk.prefer("1", desk.one, 0, (4, 2))
    desk.prefer("1", desk.one, 1, (2, 2))
    desk.prefer("2", desk.one, 0, (3, 3))
    desk.prefer("2", desk.two, 1, (1, 3))
    desk.prefer("3", desk.one, 0, (4, 0))
    desk.prefer("3", None, 1, (2, 2))
    found = desk.results()
    assert found.by_topic[:3] == (2, 1, 0)
    assert found.by_topic.p == pytest.approx(0.5)
    # Four answers for one, one for the other: 2 * (1 + 5) / 2^5.
    assert found.by_answer[:3] == (4, 1, 1)
    assert found.by_answer.p == pytest.approx(0.375)
    assert [(each.first, each.equal, each.second) for each in found.topics] == [
        (2, 0, 0),
        (1, 0, 1),
        (1, 1, 0),
    ]
    assert [each.satisfaction for each in found.topics] == [(3.0, 2.0), (2.0, 3.0), (3.0, 1.0)]
    # Means 8/3 and 2; differences 1, -1, 2 with mean 2/3 and deviation sqrt(7/3).
    means = found.satisfaction
    assert (means.first.value, means.second.value) == (pytest.approx(8 / 3), pytest.approx(2.0))
    half = 4.302652729911275 * (7 / 3) ** 0.5 / 3**0.5
    assert means.difference.low == pytest.approx(2 / 3 - half)
    assert (found.outstanding, found.answers, found.assessors) == (0, 6, 2)
    sides = found.by_side
    assert sides.wins + sides.losses == 5


def test_results_turn_with_the_runs(desk: Desk) -> None:
    """Seen from the other run wins are losses, and the satisfactions change places."""
    desk.ask(assessors=desk.people[:1])
    for topic in "123":
        desk.prefer(topic, desk.two, 0, (1, 4))
    one, two = desk.results(), desk.results(turned=True)
    assert one.by_topic[:3] == (0, 0, 3)
    assert two.by_topic[:3] == (3, 0, 0)
    assert (one.names, two.names) == (("one", "two"), ("two", "one"))
    assert one.satisfaction.first == two.satisfaction.second
    assert one.by_side == two.by_side


@pytest.mark.dialect
def test_others_see_results_when_nothing_is_outstanding(desk: Desk) -> None:
    """Organisers see them at once; the public when all answers are there or the comparison was ended."""
    desk.ask()
    desk.prefer("1", desk.one)
    assert desk.results().outstanding == 5
    with pytest.raises(NotFound):
        desk.results(ANONYMOUS)
    with desk.database.read() as session:
        assert comparisons.pair_page(session, ANONYMOUS, "t", desk.one, desk.two).people is None
    with desk.database.write() as session:
        assert side_by_side.end(session, OPERATOR, "t", desk.two, desk.one) == 5
    assert desk.results(ANONYMOUS).by_topic[:3] == (1, 0, 0)
    with desk.database.read() as session:
        page = comparisons.pair_page(session, ANONYMOUS, "t", desk.one, desk.two)
        assert page.people is not None
        assert pair_tables.facts(page)["people"]["by_topic"]["wins"] == 1
    assert [len(desk.asked(person)) for person in (0, 1)] == [1, 0]


def test_held_back_scores_hold_these_back_too(desk: Desk) -> None:
    """In a blind task nobody but organisers sees complete results."""
    desk.ask(assessors=desk.people[:1], topics=("1",))
    desk.prefer("1", desk.one)
    assert desk.results(ANONYMOUS).answers == 1
    with desk.database.write() as session:
        session.execute(update(Task).values(visibility="blind"))
    assert desk.results().answers == 1
    with pytest.raises(NotFound):
        desk.results(ANONYMOUS)


def test_the_desk_counts_what_is_there(desk: Desk) -> None:
    """Pairs with answers and outstanding ones; assessors with what they were asked and gave."""
    desk.ask()
    desk.prefer("1", desk.one)
    desk.prefer("2", None)
    with desk.database.read() as session:
        page = side_by_side_desk.desk_page(session, OPERATOR, "t")
    (row,) = page.pairs
    assert (row.names, row.topics, row.answers, row.outstanding) == (("one", "two"), 3, 2, 4)
    assert row.by_topic[:3] == (1, 1, 0)
    assert row.comparable
    assert [(each.name, each.asked, each.answered) for each in page.assessors] == [
        ("Ada", 3, 2),
        ("Bob", 3, 0),
    ]
    assert side_by_side_desk.desk_facts(page)["pairs"][0]["topics_equal"] == 1


def test_what_was_never_asked_cannot_be_ended(desk: Desk) -> None:
    """Ending the comparison of two runs that are not compared is refused."""
    with pytest.raises(NotFound), desk.database.write() as session:
        side_by_side.end(session, OPERATOR, "t", desk.one, desk.two)


def test_an_assessor_keeps_a_place_after_a_new_link(desk: Desk) -> None:
    """A renewed link shows the same questions, sides and answers."""
    desk.ask()
    before = [(each.item, each.runs) for each in desk.asked()]
    with desk.database.write() as session:
        token = assessors.renew_link(session, OPERATOR, "t", desk.people[0]).token
    with desk.database.read() as session:
        after = side_by_side.of_link(session, token)
        assert session.get_one(Assessor, desk.people[0]).name == "Ada"
    assert [(each.item, each.runs) for each in after.asked] == before
