"""A board of forty runs of answers on fifty topics with verdicts: its numbers, and what its pages ask for."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import fmean, median

import pytest
from flask.testing import FlaskClient
from sqlalchemy import event

from leaderboard.db.engine import Database
from tests.make import pages
from tests.make.fields_of_answers import AnsweredField, build_field, generated

pytestmark = pytest.mark.trial

V_STRICT, A, W = (
    "NuggetRecall(set='vital',strict=1)",
    "NuggetRecall(set='all')",
    "NuggetRecall(set='weighted')",
)
HALVES = {"support": 1.0, "partial_support": 0.5}
WEIGHTS = {2: 1.0, 1: 0.5, 0: 0.0}


def _v_strict(made: AnsweredField, run: str, topic: str) -> float:
    """Supported vital nuggets of all vital ones; no answer holds none."""
    held = dict(enumerate(made.labels.get((run, topic), ())))
    vital = [at for at, (_, importance) in enumerate(made.nuggets[topic]) if importance == "vital"]
    return sum(held.get(at) == "support" for at in vital) / len(vital)


def _a(made: AnsweredField, run: str, topic: str) -> float:
    labels = made.labels.get((run, topic), ())
    return sum(HALVES.get(label, 0.0) for label in labels) / len(made.nuggets[topic])


def _w(made: AnsweredField, run: str, topic: str) -> float:
    """Vital nuggets count once, others half."""
    share = {"vital": 1.0, "okay": 0.5}
    weights = [share[importance] for _, importance in made.nuggets[topic]]
    labels = made.labels.get((run, topic), ["not_support"] * len(weights))
    got = sum(weight * HALVES.get(label, 0.0) for weight, label in zip(weights, labels, strict=True))
    return got / sum(weights)


def _support(made: AnsweredField, run: str, topic: str) -> tuple[float, float] | None:
    """P and R by first citations; None where no first citation was judged, which is not 0."""
    if (run, topic) not in made.texts:
        return 0.0, 0.0
    firsts = [labels[0] if labels else None for labels in made.support[run, topic]]
    judged = [WEIGHTS[first] for first in firsts if first is not None and first >= 0]
    rest = len(firsts) - firsts.count(-1)
    if not judged and -1 in firsts:
        return None
    return (sum(judged) / len(judged) if judged else 0.0), (sum(judged) / rest if rest else 0.0)


@contextmanager
def _statements(database: Database) -> Iterator[list[str]]:
    sent: list[str] = []

    def note(*arguments: object) -> None:
        if not str(arguments[2]).startswith(("BEGIN", "COMMIT", "ROLLBACK")):
            sent.append(str(arguments[2]))

    event.listen(database.engine, "before_cursor_execute", note)
    try:
        yield sent
    finally:
        event.remove(database.engine, "before_cursor_execute", note)


def _asked(database: Database, client: FlaskClient, made: AnsweredField, slug: str) -> dict[str, int]:
    """How many statements each page takes that was asked for before; of a run in the middle."""
    run_id, topic = made.ids[made.runs[len(made.runs) // 2]], made.topics[-1]
    addresses = {
        "board": f"/tasks/{slug}",
        "run": f"/runs/{run_id}",
        "answer": f"/runs/{run_id}/answers/{topic}",
        "nuggets": f"/tasks/{slug}/topics/{topic}/nuggets",
        "topic": f"/tasks/{slug}/topics/{topic}",
    }
    counts = {}
    for page, address in addresses.items():
        client.get(f"{address}?q=")
        with _statements(database) as sent:
            assert client.get(f"{address}?q=+").status_code == 200
        counts[page] = len(sent)
    return counts


def test_forty_runs_on_fifty_topics(database: Database, client: FlaskClient, tmp_path: Path) -> None:
    """All pages say what the formulas make of the labels, and take as many statements as for four runs."""
    small, made = generated(4, 5), generated(40, 50)
    for field, slug in ((small, "small"), (made, "t")):
        (folder := tmp_path / slug).mkdir()
        build_field(database, folder, field, slug)
    board = client.get("/tasks/t.json").get_json()
    rows = {row["run"]: row for row in board["rows"]}
    assert len(rows) == 40
    _require_scores(made, rows)
    _require_board(made, client, board)
    _require_answer(made, client)
    _require_nuggets(made, client)
    of_few, of_many = (
        _asked(database, client, field, slug) for field, slug in ((small, "small"), (made, "t"))
    )
    assert of_many == {page: of_few[page] for page in of_many}


def _require_scores(made: AnsweredField, rows: dict[str, dict[str, object]]) -> None:
    """Means over topics of every run but the last, which is not judged on one and has no value to rank by."""
    for run in made.runs[:-1]:
        scores = rows[run]["scores"]
        assert isinstance(scores, dict)
        for key, of in ((V_STRICT, _v_strict), (A, _a), (W, _w)):
            assert scores[key] == pytest.approx(fmean(of(made, run, topic) for topic in made.topics))
        cited = [sum(len(docs) for _, docs in made.texts.get((run, topic), ())) for topic in made.topics]
        words = [
            sum(len(text.split()) for text, _ in made.texts.get((run, topic), ())) for topic in made.topics
        ]
        assert scores["NumCitations"] == pytest.approx(fmean(cited))
        assert scores["AnswerLength"] == pytest.approx(fmean(words))
        support = [_support(made, run, topic) for topic in made.topics]
        if None in support:
            assert scores["SupportP"] is None
        else:
            assert scores["SupportP"] == pytest.approx(fmean(both[0] for both in support if both))
            assert scores["SupportR"] == pytest.approx(fmean(both[1] for both in support if both))
    last = rows[made.runs[-1]]
    assert last["rank"] is None
    judged = [_v_strict(made, made.runs[-1], topic) for topic in made.topics[1:]]
    assert last["partial"][V_STRICT] == {  # type: ignore[index]
        "mean": pytest.approx(fmean(judged)),
        "judged": 49,
        "topics": 50,
    }
    order = [row["scores"][V_STRICT] for row in rows.values() if row["rank"] is not None]  # type: ignore[index]
    assert order == sorted(order, reverse=True)


def _require_board(made: AnsweredField, client: FlaskClient, board: dict[str, object]) -> None:
    """Who made the judgments, vital nuggets a topic, runs of the judge's models, the board without these."""
    vital = [sum(one == "vital" for _, one in made.nuggets[topic]) for topic in made.topics]
    assert board["median_vital"] == median(vital)
    page = client.get("/tasks/t")
    text = pages.main(page)
    assert "nuggets by GPT-4.1 · assignments by GPT-4.1 · support labels by people" in text
    assert f"The median topic has {median(vital):g} vital nuggets" in text
    assert "49 of 50 topics" in text
    assert "Scores against length" in text
    own = {run for run, model in made.models.items() if model == "GPT-4o"}
    assert page.text.count("∞ own judge</abbr>") == len(own) == 10
    others = client.get("/tasks/t.json?independent=").get_json()["rows"]
    assert {row["run"] for row in others} == set(made.runs) - own
    whole = {row["run"]: row for row in board["rows"]}  # type: ignore[attr-defined]
    assert all(
        row["rank"] == whole[row["run"]]["rank"] and row["beats"] == whole[row["run"]]["beats"]
        for row in others
    )
    first = client.get(f"/runs/{made.ids[made.runs[0]]}").text
    assert "This run states a model of the family gpt" in first
    assert "states a model" not in client.get(f"/runs/{made.ids[made.runs[1]]}").text


def _require_answer(made: AnsweredField, client: FlaskClient) -> None:
    run, topic = made.runs[5], made.topics[9]
    facts = client.get(f"/runs/{made.ids[run]}/answers/{topic}.json").get_json()
    words = {2: "full support", 1: "partial support", 0: "no support", -1: "not judged"}
    assert [[cited["support"] for cited in segment["citations"]] for segment in facts["segments"]] == [
        [words[label] for label in labels] for labels in made.support[run, topic]
    ]
    labels = dict(zip((text for text, _ in made.nuggets[topic]), made.labels[run, topic], strict=True))
    assert {nugget["text"]: nugget["label"] for nugget in facts["nuggets"]} == labels
    kinds = [nugget["importance"] for nugget in facts["nuggets"]]
    assert kinds == sorted(kinds, reverse=True)
    page = pages.main(client.get(f"/runs/{made.ids[run]}/answers/{topic}"))
    held = sum(
        label == "support" and importance == "vital"
        for (_, importance), label in zip(made.nuggets[topic], made.labels[run, topic], strict=True)
    )
    assert f"Vital: {held} of {kinds.count('vital')} supported" in page


def _require_nuggets(made: AnsweredField, client: FlaskClient) -> None:
    """Shares are of the runs that are judged or have no answer; on the first topic one is not judged."""
    topic = made.topics[0]
    facts = client.get(f"/tasks/t/topics/{topic}/nuggets.json").get_json()
    ranks = [run["rank"] for run in facts["runs"] if run["rank"] is not None]
    assert ranks == sorted(ranks)
    assert len(facts["runs"]) == 40
    by_text = {nugget["text"]: nugget for nugget in facts["nuggets"]}
    for at, (text, importance) in enumerate(made.nuggets[topic]):
        held = sum(labels[at] == "support" for (_, of), labels in made.labels.items() if of == topic)
        assert by_text[text]["importance"] == importance
        assert (by_text[text]["held"], by_text[text]["known"]) == (held, 39)
        assert by_text[text]["share"] == held / 39
    labels = {run["run"]: set(run["labels"]) for run in facts["runs"]}
    assert labels[made.runs[-1]] == {"not_judged"}
    assert labels[made.runs[-2]] == {"unanswered"}
    page = pages.parsed(client.get(f"/tasks/t/topics/{topic}/nuggets"))
    assert len(page.find("table", class_="nuggets").find("tbody").find_all("tr")) == len(by_text)
