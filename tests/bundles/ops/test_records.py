"""Which tables and columns a bundle carries: a new one is a decision, not an accident."""

import re

from leaderboard.bundles.ops import checking
from leaderboard.bundles.ops.records import TABLES, renumbered
from leaderboard.db.tables import metadata

CARRIED = {
    "task": (
        "slug name description kind answer_rules visibility published_at depth level dialect measures "
        "primary_measure "
        "comparison grade_names tag_pattern organisers contact licence links agreement "
        "agreement_version entry_rule final_runs unmarked may_withdraw reproduction_thresholds "
        "naming names_at "
        "pseudonym_list archived_at created_at"
    ),
    "topics": "topic_id position title description narrative subtopics excluded answer_limit",
    "topic_sets": "name topics seed",
    "phases": (
        "name position opens_at closes_at zone topic_set_id visibility at_close reveal_at kinds "
        "runs_per_day runs_in_all account_runs_per_day account_runs_in_all agent_runs_per_day agent_review "
        "largest_bytes ranked"
    ),
    "teams": "name affiliation country home_page created_at",
    "entries": "team_id pseudonym reveal_at state why agreement_version agreed_at created_at",
    "lines": "name kind origin origin_name",
    "revisions": (
        "qrels_id number parent_id sha256 file_name note topics judgments rounds read_as left_out_facts "
        "created_at"
    ),
    "uploads": (
        "team_id file_name sha256 bytes state agent wishes phase_id fixes report created_at checked_at"
    ),
    "runs": (
        "upload_id phase_id team_id name tag kind description details topics entries deepest "
        "ranking_sha256 order_differs withdrawn_at withdrawn_why final_at created_at"
    ),
    "reproductions": "run_id original_id baseline_id original_baseline_id created_at",
    "groups": "name kind declared_at",
    "grouped_teams": "group_id team_id",
    "grouped_runs": "group_id run_id",
    "editions": (
        "number revision_id companions dialect measures primary_measure topic_sets state created_at "
        "shown_from shown_to"
    ),
    "pools": (
        "number state method adaptive seed run_ids revision_id documents seconds_per_document note "
        "guidelines examples shown_at created_at"
    ),
    "assessors": "name origin origin_name role expires_at created_at revoked_at",
    "assignments": "pool_id assessor_id topic_id document_order seed parts part overlap",
    "assessments": (
        "pool_id topic_id docno assessor_id grade note shown_at saved_at sent_at seconds key undone"
    ),
    "pairs": "first_run_id second_run_id assessor_id topics created_at",
    "answers": (
        "topic_id left_run_id right_run_id assessor_id verdict left_satisfaction right_satisfaction "
        "note saved_at key undone"
    ),
    "announcements": "title body recipients count created_at",
    "changes": "what before after reason created_at",
    "pictures": "kind alt width height sha256 created_at",
    "snapshots": "edition_id created_at",
}
STAYS = frozenset(
    {
        *(
            "account",
            "session",
            "second_factor",
            "token",
            "identity",
            "invitation",
            "invitation_use",
            "member",
            "signing_key",
        ),
        *(
            "answer",
            "labelling_round",
            "labelling_topic",
            "labelling_share",
            "answer_label",
            "written_nugget",
        ),
        "judge_board",
        *("task_role", "audit", "throttle", "api_token", "device_request", "idempotency_key", "mail"),
        *("webhook", "webhook_attempt", "webhook_delivery", "worker", "site_version", "former_slug"),
        *("collection", "document_block", "upload_batch", "partial_upload", "click_log"),
        *("statistic", "job"),
        *("suite", "suite_member", "suite_run", "suite_run_part"),
        *("run_word", "team_word", "topic_word"),
    }
)
"""People, secrets, what is on its way, what is the collection's or several tasks', what is made anew."""
ELSEWHERE = frozenset(
    {
        *("judgment", "upload_chunk", "stored_object", "pool_topic"),
        *("ranking_block", "ranking_index", "evaluation", "evaluation_mean", "alignment"),
    }
)
"""In files of their own, or made again of these."""
SECRET = re.compile("token|secret|password|key|code|seed|hash|email|skeleton|canonical|account|created_by")


def test_every_column_that_goes_out_is_listed() -> None:
    """A column that is added is carried: whether that is right is to be decided here."""
    assert {table.name: " ".join(column.name for column in table.columns) for table in TABLES} == CARRIED


def test_every_table_is_carried_or_known_to_stay() -> None:
    """A table that is added belongs to one of three lists."""
    carried = {table.model.__tablename__ for table in TABLES}
    assert carried | STAYS | ELSEWHERE == set(metadata.tables)
    assert not carried & (STAYS | ELSEWHERE)


def test_nothing_secret_is_carried() -> None:
    """By their names: what is left are keys that a browser chose, seeds of draws, and limits."""
    suspicious = {
        f"{table.name}.{column.name}"
        for table in TABLES
        for column in table.columns
        if SECRET.search(column.name)
    }
    assert suspicious == {
        *("topic_sets.seed", "pools.seed", "assignments.seed"),
        *("assessments.key", "answers.key"),
        *("phases.account_runs_per_day", "phases.account_runs_in_all"),
    }


def test_ids_within_json_are_put_as_numbers_and_back() -> None:
    """Runs of a pool, sets of topics, companions, teams of an announcement; what is unknown is dropped."""
    numbers = {"run": {7: 1}, "topic_set": {5: 2}, "qrels_revision": {9: 3}, "team": {4: 6}}
    back = {table: {number: own for own, number in of.items()} for table, of in numbers.items()}
    for column, value, expected in (
        ("pool.run_ids", [7, 8], [1]),
        ("edition.topic_sets", {"all": {"id": 5, "topics": ["1"]}}, {"all": {"id": 2, "topics": ["1"]}}),
        ("edition.companions", {"subtopic": 9, "preference": 1}, {"subtopic": 3}),
        ("announcement.recipients", {"kind": "teams", "teams": [4, 5]}, {"kind": "teams", "teams": [6]}),
        ("announcement.recipients", {"kind": "everybody"}, {"kind": "everybody"}),
        ("task.links", [{"title": "x"}], [{"title": "x"}]),
    ):
        assert renumbered(column, value, numbers) == expected
        assert renumbered(column, renumbered(column, expected, back), numbers) == expected


def test_markdown_that_would_take_long_to_show_is_refused() -> None:
    """As tests/web/test_prose.py shows of forms, the API and commands."""
    for field in (("pools", "guidelines"), ("announcements", "body")):
        assert checking._RULES[field]("[" * 10_000) == "may have at most 4,000 marks of Markdown."
