"""Runs scored in one call have the scores that each has alone."""

from pathlib import Path
from random import Random

import numpy as np
import pytest

from leaderboard.errors import Invalid
from leaderboard.measures.catalogue.names import examples
from leaderboard.measures.registry import MEASURES
from leaderboard.trec.scores import scoring
from leaderboard.trec.scores.scoring import Inputs, Options, Scorer

TOPICS = [f"t{number}" for number in range(9)]
ANY = [
    name
    for measure in MEASURES
    for name in examples(measure)
    if not measure.needs & {"subtopics", "preferences", "documents"}
]


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, list[Path]]:
    """Judgments and seven runs: ties, missed topics, unjudged documents, rankings of unlike length."""
    random = Random(7)
    judged = [
        f"{topic} 0 d{document} {random.choice((-1, 0, 0, 1, 2))}\n"
        for topic in TOPICS
        for document in range(30)
    ]
    qrels = tmp_path / "qrels"
    qrels.write_text("".join(judged))
    runs = []
    for number in range(7):
        lines = [
            f"{topic} Q0 d{document} 1 {random.randrange(15)} run{number}\n"
            for topic in random.sample(TOPICS, 9 - number % 3)
            for document in random.sample(range(40), random.randrange(1, 40))
        ]
        runs.append(tmp_path / f"run{number}")
        runs[-1].write_text("".join(lines))
    return qrels, runs


@pytest.mark.parametrize(
    "options", [{}, {"dialect": 9}, {"judged_only": True}, {"complete": False}, {"level": 2}]
)
def test_runs_together_score_as_each_alone(files: tuple[Path, list[Path]], options: dict[str, int]) -> None:
    """The same bits, whatever the measure; so do the parts of means and what trec_eval prints."""
    qrels, runs = files
    scorer = Scorer(Inputs(qrels, collection_size=100), Options(ANY, **options))  # type: ignore[arg-type]
    for run, together in zip(runs, scorer.all(runs), strict=True):
        alone = scorer.scores(run)
        assert (together.run, together.topics) == (alone.run, alone.topics)
        for measure, scores in alone.scores.items():
            assert together.scores[measure].tobytes() == scores.tobytes(), measure.key
            if measure in alone.parts:
                assert np.array_equal(together.parts[measure], alone.parts[measure])
            if measure.measure.aggregate != "none":
                assert together.aggregate(measure) == alone.aggregate(measure)


def test_runs_are_scored_a_few_at_a_time(
    files: tuple[Path, list[Path]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Memory has a bound: the number of documents that are scored together."""
    qrels, runs = files
    monkeypatch.setattr(scoring, "TOGETHER", 600)
    together = []
    original = scoring.in_a_row
    monkeypatch.setattr(scoring, "in_a_row", lambda seen: together.append(len(seen)) or original(seen))
    assert len(list(Scorer(Inputs(qrels), Options(["AP"])).all(runs))) == 7
    assert (sum(together), max(together)) == (7, 2)


def test_the_runs_before_a_refused_one_are_scored(files: tuple[Path, list[Path]], tmp_path: Path) -> None:
    """What could be read is not lost with what could not."""
    qrels, runs = files
    other = tmp_path / "other"
    other.write_text("x1 Q0 d1 1 1 other\n")
    reports = Scorer(Inputs(qrels), Options(["AP"])).all([*runs[:2], other, runs[3]])
    assert [next(reports).run, next(reports).run] == ["run0", "run1"]
    with pytest.raises(Invalid, match="has no topic"):
        next(reports)
