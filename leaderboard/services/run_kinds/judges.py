"""Runs of judges: boards, or labels that make one."""

from leaderboard.measures.judges import registry
from leaderboard.services.judges import scoring, sending, store
from leaderboard.services.kinds import JUDGES, RunKind
from leaderboard.services.nuggets.senders import has_parts

KIND = RunKind(
    name=JUDGES,
    judgments="board",
    may_be_open=False,
    usual_measures=("BoardTau", "TopicTau", "TopicAccuracy"),
    parse=registry.parse,
    alike="values",
    stored="boards of judges",
    hidden_name="run.json",
    rules=sending.rules_of,
    checked=sending.checked,
    # The parts of one judge.
    is_one_run=lambda path, _, limits: has_parts(path, limits),
    store=store.add,
    damage=store.damage,
    measures=scoring.of_edition,
    # The board that labels make is stored where hits are.
    has_hits=store.has_labels,
    compute=scoring.compute,
    again=scoring.again,
    open_hits=lambda run_id, _, hits: store.opened(run_id, hits),
)
