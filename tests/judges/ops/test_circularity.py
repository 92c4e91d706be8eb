"""What is circular about a judge by what it and runs declare."""

import numpy as np
import pytest

from leaderboard.judges.ops.field import DeclaredFacts, by_family, by_team, circularity
from leaderboard.stats.orders.rank_correlation import tau_b
from leaderboard.trec.boards.forms import Declared
from tests.make.boards import GOOD, SCORES, held

BIASED = GOOD + np.where(np.isin(np.arange(8), (2, 3)), 0.4, 0.0)[:, None]
RUNS = {
    "run2": Declared("Trees", "GPT-4o for expansion"),
    "run3": Declared("Trees", reranker="gpt-5"),
    "run4": Declared("Birds", "Llama 3"),
    "run5": Declared("Birds"),
}


def facts(judge: Declared, *, is_machine: bool = False) -> DeclaredFacts:
    """The facts of the runs and of the judge."""
    return DeclaredFacts(RUNS, {"judge": judge}, is_machine)


def test_a_family_in_common_is_named_with_its_runs() -> None:
    """Generator or reranker; the agreement without these runs, and by how much they are over-rated."""
    found = circularity(held("judge", BIASED), facts(Declared("Fish", "gpt-4.1")))
    assert found.sentences == ("The judge shares a model family with runs run2, run3.",)
    assert found.runs == ("run2", "run3")
    kept = np.array([0, 1, 4, 5, 6, 7])
    assert found.without is not None
    assert found.without.tau_b == pytest.approx(tau_b(SCORES[kept].mean(axis=1), BIASED[kept].mean(axis=1)))
    assert found.rating is not None
    assert found.rating.low is not None
    assert found.rating.low > 0


def test_what_else_is_circular_is_said() -> None:
    """A team in common, a judge that saw the reference, a reference by a machine."""
    found = circularity(held("judge", GOOD), facts(Declared("Birds", saw_reference=True), is_machine=True))
    assert found.sentences == (
        "The judge belongs to the team of runs run4, run5.",
        "The judge saw the judgments behind the reference.",
        "The reference is judged by a machine, so this is agreement between two machines.",
    )
    assert found.runs == ("run4", "run5")


def test_nothing_declared_is_nothing_circular() -> None:
    """No sentence, no number."""
    found = circularity(held("judge", GOOD), DeclaredFacts({}, {}))
    assert (found.sentences, found.runs, found.without, found.rating) == ((), (), None, None)


def test_fewer_than_three_runs_left_give_no_agreement() -> None:
    """But the over-rating is there."""
    everyone = {f"run{run}": Declared(llm="gpt") for run in range(6)}
    found = circularity(held("judge", GOOD), DeclaredFacts(everyone, {"judge": Declared(llm="GPT-4")}))
    assert found.without is None
    assert found.rating is not None


def test_teams_and_families_are_rated() -> None:
    """The most over-rated first; a family of all or none is left out."""
    agreement = held("judge", BIASED)
    teams = by_team(agreement, facts(Declared()))
    assert [(team.name, team.runs) for team in teams] == [("Trees", 2), ("Birds", 2)]
    own, others = by_family(agreement, facts(Declared(llm="gpt-4.1")))
    assert (own.name, own.runs, others.name, others.runs) == ("the judge's family", 2, "others", 6)
    assert own.rating.mean * 2 + others.rating.mean * 6 == pytest.approx(0, abs=1e-9)
    assert by_family(agreement, facts(Declared(llm="Qwen"))) == ()
