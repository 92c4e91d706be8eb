"""Runs that answer topics and cite documents."""

from leaderboard.measures.answers import registry
from leaderboard.pooling.registry import DEFAULT_OF_ANSWERS, OF_ANSWERS
from leaderboard.services import answers
from leaderboard.services.kinds import ANSWERS, RunKind
from leaderboard.services.nuggets import scoring
from leaderboard.trec.answers.packages import is_package

KIND = RunKind(
    name=ANSWERS,
    judgments="answers",
    ranks_documents=False,
    may_be_open=True,
    usual_measures=("V_strict", "A", "W", "SupportP", "SupportR", "AnswerLength", "NumCitations"),
    parse=registry.parse,
    alike="cited documents and segments",
    stored="runs of answers",
    hidden_name="run.jsonl.gz",
    pooled="what they cite",
    pool_methods=OF_ANSWERS,
    usual_pool=DEFAULT_OF_ANSWERS,
    shortest=40,
    missed="; a topic without an answer scores 0",
    missing=". An answer that is empty or missing scores 0; one that nobody judged has no score. ",
    rules=answers.rules_of,
    checked=answers.checked,
    topics_of=answers.topics_of,
    prepared=lambda *_: [],
    # LongEval's.
    is_one_run=lambda path, archive, _: archive == "zip" and is_package(path),
    store=answers.add_run,
    damage=answers.damage,
    measures=scoring.of_edition,
    has_hits=lambda *_: False,
    compute=scoring.compute,
    again=scoring.again,
    open_hits=lambda *_: None,
)
