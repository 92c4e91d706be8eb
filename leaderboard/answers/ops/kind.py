"""The kind of runs that answer topics and cite documents."""

from leaderboard.answers.ops import answers
from leaderboard.answers.ops.nuggets import line_scores, reading, scoring
from leaderboard.core.kinds import ANSWERS, RunKind
from leaderboard.measures.answers import registry
from leaderboard.pooling.registry import DEFAULT_OF_ANSWERS, OF_ANSWERS
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
    missing=". An empty or missing answer scores 0; an unjudged answer has no score. ",
    rules=answers.rules_of,
    checked=answers.checked,
    sample=answers.sample,
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
    basis=line_scores.of_edition,
    packed=reading.of_packed,
    procedure=None,
)
