"""First schema: people, tasks, judgments, runs, evaluations, editions, jobs.

Revision ID: 0001
Revises:
"""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

Id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
Moment = sa.DateTime(timezone=True)
Bytewise = sa.String().with_variant(sa.String(collation="C"), "postgresql")


def upgrade() -> None:
    op.create_table(
        "account",
        sa.Column("id", Id, nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("canonical", sa.String(), nullable=False),
        sa.Column("email", sa.String(), nullable=False),
        sa.Column("password_hash", sa.String(), nullable=True),
        sa.Column("is_organiser", sa.Boolean(), nullable=False),
        sa.Column("created_at", Moment, nullable=False),
        sa.Column("disabled_at", Moment, nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_account")),
        sa.UniqueConstraint("canonical", name=op.f("uq_account_canonical")),
    )
    op.create_table(
        "audit",
        sa.Column("id", Id, nullable=False),
        sa.Column("at", Moment, nullable=False),
        sa.Column("account_id", Id, nullable=True),
        sa.Column("ip", sa.String(), nullable=False),
        sa.Column("action", sa.String(), nullable=False),
        sa.Column("subject", sa.String(), nullable=False),
        sa.Column("detail", sa.JSON(), nullable=False),
        sa.Column("digest", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_audit")),
    )
    op.create_table(
        "collection",
        sa.Column("id", Id, nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("size", Id, nullable=True),
        sa.Column("stored", Id, nullable=False),
        sa.Column("link_template", sa.String(), nullable=False),
        sa.Column("known_docnos", sa.LargeBinary(), nullable=True),
        sa.Column("created_at", Moment, nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_collection")),
        sa.UniqueConstraint("name", name=op.f("uq_collection_name")),
    )
    op.create_table(
        "job",
        sa.Column("id", Id, nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("subject_id", Id, nullable=False),
        sa.Column("edition_id", Id, nullable=True),
        sa.Column("priority", Id, nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("attempts", Id, nullable=False),
        sa.Column("max_attempts", Id, nullable=False),
        sa.Column("limit_s", Id, nullable=False),
        sa.Column("token", Id, nullable=False),
        sa.Column("owner", sa.String(), nullable=False),
        sa.Column("lease_until", Moment, nullable=True),
        sa.Column("run_after", Moment, nullable=False),
        sa.Column("carried_at", Moment, nullable=True),
        sa.Column("dedupe_key", sa.String(), nullable=False),
        sa.Column("error", sa.String(), nullable=False),
        sa.Column("created_at", Moment, nullable=False),
        sa.Column("started_at", Moment, nullable=True),
        sa.Column("finished_at", Moment, nullable=True),
        sa.CheckConstraint(
            "state IN ('queued', 'leased', 'done', 'failed', 'superseded')", name=op.f("ck_job_state")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_job")),
    )
    with op.batch_alter_table("job", schema=None) as batch_op:
        batch_op.create_index("ix_job_claim", ["state", "priority", "id"], unique=False)
        batch_op.create_index(batch_op.f("ix_job_edition_id"), ["edition_id"], unique=False)
        batch_op.create_index("ix_job_subject", ["kind", "subject_id"], unique=False)
        batch_op.create_index(
            "uq_job_dedupe_key_queued",
            ["dedupe_key"],
            unique=True,
            sqlite_where=sa.text("state = 'queued'"),
            postgresql_where=sa.text("state = 'queued'"),
        )

    op.create_table(
        "team",
        sa.Column("id", Id, nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("canonical", sa.String(), nullable=False),
        sa.Column("created_at", Moment, nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_team")),
        sa.UniqueConstraint("canonical", name=op.f("uq_team_canonical")),
    )
    op.create_table(
        "throttle",
        sa.Column("key", sa.String(), nullable=False),
        sa.Column("window_start", Moment, nullable=False),
        sa.Column("count", Id, nullable=False),
        sa.PrimaryKeyConstraint("key", "window_start", name=op.f("pk_throttle")),
    )
    with op.batch_alter_table("throttle", schema=None) as batch_op:
        batch_op.create_index("ix_throttle_window_start", ["window_start"], unique=False)

    op.create_table(
        "document_block",
        sa.Column("id", Id, nullable=False),
        sa.Column("collection_id", Id, nullable=False),
        sa.Column("first_docno", Bytewise, nullable=False),
        sa.Column("last_docno", Bytewise, nullable=False),
        sa.Column("count", Id, nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["collection_id"],
            ["collection.id"],
            name=op.f("fk_document_block_collection_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_document_block")),
        sa.UniqueConstraint(
            "collection_id", "first_docno", name=op.f("uq_document_block_collection_id_first_docno")
        ),
    )
    op.create_table(
        "member",
        sa.Column("team_id", Id, nullable=False),
        sa.Column("account_id", Id, nullable=False),
        sa.Column("role", sa.String(), nullable=False),
        sa.Column("joined_at", Moment, nullable=False),
        sa.ForeignKeyConstraint(
            ["account_id"], ["account.id"], name=op.f("fk_member_account_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["team_id"], ["team.id"], name=op.f("fk_member_team_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("team_id", "account_id", name=op.f("pk_member")),
    )
    with op.batch_alter_table("member", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_member_account_id"), ["account_id"], unique=False)

    op.create_table(
        "session",
        sa.Column("id", Id, nullable=False),
        sa.Column("token_sha256", sa.String(), nullable=False),
        sa.Column("account_id", Id, nullable=False),
        sa.Column("created_at", Moment, nullable=False),
        sa.Column("seen_at", Moment, nullable=False),
        sa.Column("ip", sa.String(), nullable=False),
        sa.Column("agent", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(
            ["account_id"], ["account.id"], name=op.f("fk_session_account_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_session")),
        sa.UniqueConstraint("token_sha256", name=op.f("uq_session_token_sha256")),
    )
    with op.batch_alter_table("session", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_session_account_id"), ["account_id"], unique=False)

    op.create_table(
        "task",
        sa.Column("id", Id, nullable=False),
        sa.Column("slug", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("description", sa.String(), nullable=False),
        sa.Column("collection_id", Id, nullable=False),
        sa.Column("visibility", sa.String(), nullable=False),
        sa.Column("published_at", Moment, nullable=True),
        sa.Column("depth", Id, nullable=False),
        sa.Column("level", Id, nullable=False),
        sa.Column("dialect", Id, nullable=False),
        sa.Column("measures", sa.JSON(), nullable=False),
        sa.Column("primary_measure", sa.String(), nullable=False),
        sa.Column("grade_names", sa.JSON(), nullable=False),
        sa.Column("tag_pattern", sa.String(), nullable=False),
        sa.Column("created_at", Moment, nullable=False),
        sa.CheckConstraint("visibility IN ('open', 'blind', 'sealed')", name=op.f("ck_task_visibility")),
        sa.CheckConstraint("dialect IN (9, 10)", name=op.f("ck_task_dialect")),
        sa.ForeignKeyConstraint(["collection_id"], ["collection.id"], name=op.f("fk_task_collection_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_task")),
        sa.UniqueConstraint("slug", name=op.f("uq_task_slug")),
    )
    with op.batch_alter_table("task", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_task_collection_id"), ["collection_id"], unique=False)

    op.create_table(
        "token",
        sa.Column("id", Id, nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("token_sha256", sa.String(), nullable=False),
        sa.Column("account_id", Id, nullable=True),
        sa.Column("team_id", Id, nullable=True),
        sa.Column("scope", sa.String(), nullable=False),
        sa.Column("created_at", Moment, nullable=False),
        sa.Column("expires_at", Moment, nullable=True),
        sa.Column("used_at", Moment, nullable=True),
        sa.Column("revoked_at", Moment, nullable=True),
        sa.ForeignKeyConstraint(
            ["account_id"], ["account.id"], name=op.f("fk_token_account_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["team_id"], ["team.id"], name=op.f("fk_token_team_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_token")),
        sa.UniqueConstraint("token_sha256", name=op.f("uq_token_token_sha256")),
    )
    op.create_table(
        "entry",
        sa.Column("id", Id, nullable=False),
        sa.Column("task_id", Id, nullable=False),
        sa.Column("team_id", Id, nullable=False),
        sa.Column("pseudonym", sa.String(), nullable=True),
        sa.Column("reveal_at", Moment, nullable=True),
        sa.Column("created_at", Moment, nullable=False),
        sa.ForeignKeyConstraint(["task_id"], ["task.id"], name=op.f("fk_entry_task_id"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["team_id"], ["team.id"], name=op.f("fk_entry_team_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_entry")),
        sa.UniqueConstraint("task_id", "team_id", name=op.f("uq_entry_task_id_team_id")),
    )
    with op.batch_alter_table("entry", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_entry_team_id"), ["team_id"], unique=False)

    op.create_table(
        "phase",
        sa.Column("id", Id, nullable=False),
        sa.Column("task_id", Id, nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("opens_at", Moment, nullable=True),
        sa.Column("closes_at", Moment, nullable=True),
        sa.Column("runs_per_day", Id, nullable=True),
        sa.Column("runs_in_all", Id, nullable=True),
        sa.Column("ranked", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(["task_id"], ["task.id"], name=op.f("fk_phase_task_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_phase")),
        sa.UniqueConstraint("task_id", "name", name=op.f("uq_phase_task_id_name")),
    )
    op.create_table(
        "qrels",
        sa.Column("id", Id, nullable=False),
        sa.Column("task_id", Id, nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("origin", sa.String(), nullable=False),
        sa.Column("origin_name", sa.String(), nullable=False),
        sa.CheckConstraint(
            "kind IN ('graded', 'subtopic', 'preference', 'sampled')", name=op.f("ck_qrels_kind")
        ),
        sa.CheckConstraint("origin IN ('human', 'machine', 'click')", name=op.f("ck_qrels_origin")),
        sa.ForeignKeyConstraint(["task_id"], ["task.id"], name=op.f("fk_qrels_task_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_qrels")),
        sa.UniqueConstraint("task_id", "name", name=op.f("uq_qrels_task_id_name")),
    )
    op.create_table(
        "task_role",
        sa.Column("task_id", Id, nullable=False),
        sa.Column("account_id", Id, nullable=False),
        sa.Column("role", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(
            ["account_id"], ["account.id"], name=op.f("fk_task_role_account_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["task_id"], ["task.id"], name=op.f("fk_task_role_task_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("task_id", "account_id", "role", name=op.f("pk_task_role")),
    )
    with op.batch_alter_table("task_role", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_task_role_account_id"), ["account_id"], unique=False)

    op.create_table(
        "topic",
        sa.Column("id", Id, nullable=False),
        sa.Column("task_id", Id, nullable=False),
        sa.Column("topic_id", Bytewise, nullable=False),
        sa.Column("position", Id, nullable=False),
        sa.Column("title", sa.String(), nullable=False),
        sa.Column("description", sa.String(), nullable=False),
        sa.Column("narrative", sa.String(), nullable=False),
        sa.Column("subtopics", sa.JSON(), nullable=False),
        sa.Column("excluded", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(["task_id"], ["task.id"], name=op.f("fk_topic_task_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_topic")),
        sa.UniqueConstraint("task_id", "topic_id", name=op.f("uq_topic_task_id_topic_id")),
    )
    op.create_table(
        "topic_set",
        sa.Column("id", Id, nullable=False),
        sa.Column("task_id", Id, nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("topics", sa.JSON(), nullable=True),
        sa.ForeignKeyConstraint(
            ["task_id"], ["task.id"], name=op.f("fk_topic_set_task_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_topic_set")),
        sa.UniqueConstraint("task_id", "name", name=op.f("uq_topic_set_task_id_name")),
    )
    op.create_table(
        "upload",
        sa.Column("id", Id, nullable=False),
        sa.Column("task_id", Id, nullable=False),
        sa.Column("team_id", Id, nullable=False),
        sa.Column("account_id", Id, nullable=True),
        sa.Column("file_name", sa.String(), nullable=False),
        sa.Column("sha256", sa.String(), nullable=False),
        sa.Column("bytes", Id, nullable=False),
        sa.Column("idempotency_key", sa.String(), nullable=True),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("wishes", sa.JSON(), nullable=False),
        sa.Column("report", sa.JSON(), nullable=True),
        sa.Column("created_at", Moment, nullable=False),
        sa.Column("checked_at", Moment, nullable=True),
        sa.CheckConstraint("state IN ('received', 'accepted', 'rejected')", name=op.f("ck_upload_state")),
        sa.ForeignKeyConstraint(["account_id"], ["account.id"], name=op.f("fk_upload_account_id")),
        sa.ForeignKeyConstraint(["task_id"], ["task.id"], name=op.f("fk_upload_task_id"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["team_id"], ["team.id"], name=op.f("fk_upload_team_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_upload")),
        sa.UniqueConstraint("idempotency_key", name=op.f("uq_upload_idempotency_key")),
    )
    with op.batch_alter_table("upload", schema=None) as batch_op:
        batch_op.create_index("ix_upload_task_id_team_id", ["task_id", "team_id"], unique=False)

    op.create_table(
        "qrels_revision",
        sa.Column("id", Id, nullable=False),
        sa.Column("qrels_id", Id, nullable=False),
        sa.Column("number", Id, nullable=False),
        sa.Column("parent_id", Id, nullable=True),
        sa.Column("sha256", sa.String(), nullable=False),
        sa.Column("file_name", sa.String(), nullable=False),
        sa.Column("note", sa.String(), nullable=False),
        sa.Column("topics", sa.JSON(), nullable=False),
        sa.Column("judgments", Id, nullable=False),
        sa.Column("packed", sa.LargeBinary(), nullable=False),
        sa.Column("created_at", Moment, nullable=False),
        sa.Column("created_by", Id, nullable=True),
        sa.ForeignKeyConstraint(["created_by"], ["account.id"], name=op.f("fk_qrels_revision_created_by")),
        sa.ForeignKeyConstraint(
            ["parent_id"], ["qrels_revision.id"], name=op.f("fk_qrels_revision_parent_id")
        ),
        sa.ForeignKeyConstraint(
            ["qrels_id"], ["qrels.id"], name=op.f("fk_qrels_revision_qrels_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_qrels_revision")),
        sa.UniqueConstraint("qrels_id", "number", name=op.f("uq_qrels_revision_qrels_id_number")),
    )
    op.create_table(
        "run",
        sa.Column("id", Id, nullable=False),
        sa.Column("upload_id", Id, nullable=False),
        sa.Column("task_id", Id, nullable=False),
        sa.Column("phase_id", Id, nullable=False),
        sa.Column("team_id", Id, nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("tag", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("description", sa.String(), nullable=False),
        sa.Column("details", sa.JSON(), nullable=False),
        sa.Column("topics", Id, nullable=False),
        sa.Column("entries", Id, nullable=False),
        sa.Column("deepest", Id, nullable=False),
        sa.Column("ranking_sha256", sa.String(), nullable=False),
        sa.Column("sketch", sa.LargeBinary(), nullable=False),
        sa.Column("order_differs", sa.Boolean(), nullable=False),
        sa.Column("withdrawn_at", Moment, nullable=True),
        sa.Column("withdrawn_by", Id, nullable=True),
        sa.Column("withdrawn_why", sa.String(), nullable=False),
        sa.Column("created_at", Moment, nullable=False),
        sa.CheckConstraint(
            "kind IN ('official', 'baseline', 'late', 'unofficial')", name=op.f("ck_run_kind")
        ),
        sa.ForeignKeyConstraint(["phase_id"], ["phase.id"], name=op.f("fk_run_phase_id")),
        sa.ForeignKeyConstraint(["task_id"], ["task.id"], name=op.f("fk_run_task_id"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["team_id"], ["team.id"], name=op.f("fk_run_team_id")),
        sa.ForeignKeyConstraint(["upload_id"], ["upload.id"], name=op.f("fk_run_upload_id")),
        sa.ForeignKeyConstraint(["withdrawn_by"], ["account.id"], name=op.f("fk_run_withdrawn_by")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_run")),
        sa.UniqueConstraint("task_id", "name", name=op.f("uq_run_task_id_name")),
        sa.UniqueConstraint("upload_id", name=op.f("uq_run_upload_id")),
    )
    with op.batch_alter_table("run", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_run_ranking_sha256"), ["ranking_sha256"], unique=False)
        batch_op.create_index(batch_op.f("ix_run_team_id"), ["team_id"], unique=False)

    op.create_table(
        "upload_chunk",
        sa.Column("upload_id", Id, nullable=False),
        sa.Column("number", Id, nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["upload_id"], ["upload.id"], name=op.f("fk_upload_chunk_upload_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("upload_id", "number", name=op.f("pk_upload_chunk")),
    )
    op.create_table(
        "edition",
        sa.Column("id", Id, nullable=False),
        sa.Column("task_id", Id, nullable=False),
        sa.Column("number", Id, nullable=False),
        sa.Column("revision_id", Id, nullable=False),
        sa.Column("dialect", Id, nullable=False),
        sa.Column("measures", sa.JSON(), nullable=False),
        sa.Column("primary_measure", sa.String(), nullable=False),
        sa.Column("topic_sets", sa.JSON(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("created_at", Moment, nullable=False),
        sa.Column("shown_from", Moment, nullable=True),
        sa.Column("shown_to", Moment, nullable=True),
        sa.CheckConstraint(
            "state IN ('building', 'current', 'past', 'failed')", name=op.f("ck_edition_state")
        ),
        sa.ForeignKeyConstraint(["revision_id"], ["qrels_revision.id"], name=op.f("fk_edition_revision_id")),
        sa.ForeignKeyConstraint(
            ["task_id"], ["task.id"], name=op.f("fk_edition_task_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_edition")),
        sa.UniqueConstraint("task_id", "number", name=op.f("uq_edition_task_id_number")),
    )
    with op.batch_alter_table("edition", schema=None) as batch_op:
        batch_op.create_index(
            "uq_edition_one_current",
            ["task_id"],
            unique=True,
            sqlite_where=sa.text("state = 'current'"),
            postgresql_where=sa.text("state = 'current'"),
        )

    op.create_table(
        "evaluation",
        sa.Column("id", Id, nullable=False),
        sa.Column("run_id", Id, nullable=False),
        sa.Column("revision_id", Id, nullable=False),
        sa.Column("measure", sa.String(), nullable=False),
        sa.Column("measure_version", Id, nullable=False),
        sa.Column("dialect", Id, nullable=False),
        sa.Column("evaluator", sa.String(), nullable=False),
        sa.Column("scores", sa.LargeBinary(), nullable=False),
        sa.Column("created_at", Moment, nullable=False),
        sa.ForeignKeyConstraint(
            ["revision_id"], ["qrels_revision.id"], name=op.f("fk_evaluation_revision_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["run_id"], ["run.id"], name=op.f("fk_evaluation_run_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_evaluation")),
        sa.UniqueConstraint(
            "revision_id",
            "run_id",
            "measure",
            "measure_version",
            "dialect",
            name=op.f("uq_evaluation_revision_id_run_id_measure_measure_version_dialect"),
        ),
    )
    with op.batch_alter_table("evaluation", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_evaluation_run_id"), ["run_id"], unique=False)

    op.create_table(
        "judgment",
        sa.Column("revision_id", Id, nullable=False),
        sa.Column("topic_id", Bytewise, nullable=False),
        sa.Column("subtopic", Bytewise, nullable=False),
        sa.Column("docno", Bytewise, nullable=False),
        sa.Column("grade", Id, nullable=False),
        sa.Column("stratum", sa.String(), nullable=True),
        sa.Column("inclusion_probability", sa.Double(), nullable=True),
        sa.ForeignKeyConstraint(
            ["revision_id"], ["qrels_revision.id"], name=op.f("fk_judgment_revision_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("revision_id", "topic_id", "subtopic", "docno", name=op.f("pk_judgment")),
    )
    op.create_table(
        "ranking_block",
        sa.Column("run_id", Id, nullable=False),
        sa.Column("number", Id, nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["run_id"], ["run.id"], name=op.f("fk_ranking_block_run_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("run_id", "number", name=op.f("pk_ranking_block")),
    )
    op.create_table(
        "ranking_index",
        sa.Column("run_id", Id, nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["run_id"], ["run.id"], name=op.f("fk_ranking_index_run_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("run_id", name=op.f("pk_ranking_index")),
    )
    op.create_table(
        "evaluation_mean",
        sa.Column("evaluation_id", Id, nullable=False),
        sa.Column("topic_set_id", Id, nullable=False),
        sa.Column("mean", sa.Double(), nullable=False),
        sa.Column("topics", Id, nullable=False),
        sa.ForeignKeyConstraint(
            ["evaluation_id"],
            ["evaluation.id"],
            name=op.f("fk_evaluation_mean_evaluation_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["topic_set_id"],
            ["topic_set.id"],
            name=op.f("fk_evaluation_mean_topic_set_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("evaluation_id", "topic_set_id", name=op.f("pk_evaluation_mean")),
    )


def downgrade() -> None:
    op.drop_table("evaluation_mean")
    op.drop_table("ranking_index")
    op.drop_table("ranking_block")
    op.drop_table("judgment")
    with op.batch_alter_table("evaluation", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_evaluation_run_id"))

    op.drop_table("evaluation")
    with op.batch_alter_table("edition", schema=None) as batch_op:
        batch_op.drop_index(
            "uq_edition_one_current",
            sqlite_where=sa.text("state = 'current'"),
            postgresql_where=sa.text("state = 'current'"),
        )

    op.drop_table("edition")
    op.drop_table("upload_chunk")
    with op.batch_alter_table("run", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_run_team_id"))
        batch_op.drop_index(batch_op.f("ix_run_ranking_sha256"))

    op.drop_table("run")
    op.drop_table("qrels_revision")
    with op.batch_alter_table("upload", schema=None) as batch_op:
        batch_op.drop_index("ix_upload_task_id_team_id")

    op.drop_table("upload")
    op.drop_table("topic_set")
    op.drop_table("topic")
    with op.batch_alter_table("task_role", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_task_role_account_id"))

    op.drop_table("task_role")
    op.drop_table("qrels")
    op.drop_table("phase")
    with op.batch_alter_table("entry", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_entry_team_id"))

    op.drop_table("entry")
    op.drop_table("token")
    with op.batch_alter_table("task", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_task_collection_id"))

    op.drop_table("task")
    with op.batch_alter_table("session", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_session_account_id"))

    op.drop_table("session")
    with op.batch_alter_table("member", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_member_account_id"))

    op.drop_table("member")
    op.drop_table("document_block")
    with op.batch_alter_table("throttle", schema=None) as batch_op:
        batch_op.drop_index("ix_throttle_window_start")

    op.drop_table("throttle")
    op.drop_table("team")
    with op.batch_alter_table("job", schema=None) as batch_op:
        batch_op.drop_index(
            "uq_job_dedupe_key_queued",
            sqlite_where=sa.text("state = 'queued'"),
            postgresql_where=sa.text("state = 'queued'"),
        )
        batch_op.drop_index("ix_job_subject")
        batch_op.drop_index(batch_op.f("ix_job_edition_id"))
        batch_op.drop_index("ix_job_claim")

    op.drop_table("job")
    op.drop_table("collection")
    op.drop_table("audit")
    op.drop_table("account")
