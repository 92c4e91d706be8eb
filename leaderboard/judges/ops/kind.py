"""Run type of judges: boards, or labels that make one."""

from leaderboard.answers.ops.nuggets.reading import has_parts
from leaderboard.core.kinds import JUDGES, RunKind
from leaderboard.judges.ops import scoring, sending, store
from leaderboard.measures.judges import registry
from leaderboard.pooling.registry import DEFAULT, METHODS

KIND = RunKind(
    name=JUDGES,
    judgments="board",
    ranks_documents=False,
    may_be_open=False,
    usual_measures=("BoardTau", "TopicTau", "TopicAccuracy"),
    parse=registry.parse,
    alike="values",
    stored="boards of judges",
    hidden_name="run.json",
    pooled="",
    pool_methods=METHODS,
    usual_pool=DEFAULT,
    shortest=40,
    missed="",
    missing=". Topics on which the reference ties all runs are left out; judges lacking runs have no score. ",
    rules=sending.rules_of,
    checked=sending.checked,
    # It would name the runs of the reference.
    sample=None,
    topics_of=lambda *_: set(),
    prepared=scoring.needed,
    # The files of one judge.
    is_one_run=lambda path, _, limits: has_parts(path, limits),
    store=store.add,
    damage=store.damage,
    measures=scoring.of_edition,
    # The board made from labels is stored in the place of hits.
    has_hits=store.has_labels,
    compute=scoring.compute,
    again=scoring.again,
    open_hits=lambda run_id, _, hits: store.opened(run_id, hits),
    basis=None,
    packed=sending.of_packed,
    procedure=scoring.compute_bounds,
)
