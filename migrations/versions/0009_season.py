"""A season: invitations, mail, phases, entries, groups, choices, and files that come together.

Revision ID: 0009
Revises: 0008
"""

from collections.abc import Mapping

import sqlalchemy as sa
from alembic import op
from alembic.operations import BatchOperations

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None

Id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
Moment = sa.DateTime(timezone=True)
RUN = {"ck_run_kind": "kind IN ('official', 'baseline', 'late', 'unofficial')"}
TASK = {
    "ck_task_visibility": "visibility IN ('open', 'blind', 'sealed')",
    "ck_task_dialect": "dialect IN (9, 10)",
}
UPLOAD_BEFORE = {"ck_upload_state": "state IN ('received', 'accepted', 'rejected')"}
UPLOAD = {"ck_upload_state": "state IN ('received', 'held', 'accepted', 'rejected')"}


def upgrade() -> None:
    """Make the tables of a season; invitations get a table of their own, primary runs a mark."""
    _make_tables()
    _widen_tables()
    _check_uploads(UPLOAD)
    op.execute(
        "UPDATE upload SET phase_id = (SELECT min(id) FROM phase WHERE phase.task_id = upload.task_id)"
    )
    _move_invitations()
    _move_primary_runs()
    # Teams that had a pseudonym had it until a date of their own.
    op.execute(
        "UPDATE task SET naming = 'team' WHERE EXISTS "
        "(SELECT 1 FROM entry WHERE entry.task_id = task.id AND entry.pseudonym IS NOT NULL)"
    )
    op.execute(
        "UPDATE entry SET reveal_at = created_at WHERE pseudonym IS NULL "
        "AND task_id IN (SELECT id FROM task WHERE naming = 'team')"
    )


def downgrade() -> None:
    """Take the tables and columns away; invitations of teams go back to where they were."""
    op.execute(
        "INSERT INTO token (kind, token_sha256, team_id, scope, created_at, expires_at, revoked_at, used_at) "
        "SELECT 'invite', token_sha256, team_id, '', created_at, expires_at, revoked_at, "
        "(SELECT max(used_at) FROM invitation_use WHERE invitation_id = invitation.id) "
        "FROM invitation WHERE kind = 'team'"
    )
    _move_primary_runs_back()
    op.execute("UPDATE upload SET state = 'rejected' WHERE state = 'held'")
    _check_uploads(UPLOAD_BEFORE)
    with op.batch_alter_table("upload", schema=None, table_args=_checks(UPLOAD_BEFORE)) as batch_op:
        batch_op.drop_constraint(op.f("fk_upload_phase_id"), type_="foreignkey")
        batch_op.drop_column("phase_id")
        _drop_check_of_uploads(batch_op)
        batch_op.drop_constraint(op.f("fk_upload_fixed_from_id"), type_="foreignkey")
        batch_op.drop_constraint(op.f("fk_upload_batch_id"), type_="foreignkey")
        batch_op.drop_index(op.f("ix_upload_batch_id"))
        batch_op.drop_column("batch_id")
        batch_op.drop_column("fixed_from_id")
        batch_op.drop_column("fixes")
    with op.batch_alter_table("topic_set", schema=None) as batch_op:
        batch_op.drop_column("seed")
    with op.batch_alter_table("qrels_revision", schema=None) as batch_op:
        batch_op.drop_column("rounds")
    with op.batch_alter_table("team", schema=None) as batch_op:
        batch_op.drop_constraint(op.f("fk_team_merged_into_id"), type_="foreignkey")
        batch_op.drop_column("affiliation")
        batch_op.drop_column("country")
        batch_op.drop_column("home_page")
        batch_op.drop_column("merged_into_id")
    with op.batch_alter_table("task", schema=None, table_args=_checks(TASK)) as batch_op:
        batch_op.drop_constraint(op.f("ck_task_entry_rule"), type_="check")
        batch_op.drop_constraint(op.f("ck_task_unmarked"), type_="check")
        batch_op.drop_constraint(op.f("ck_task_naming"), type_="check")
        batch_op.drop_column("contact")
        batch_op.drop_column("licence")
        batch_op.drop_column("links")
        batch_op.drop_column("agreement")
        batch_op.drop_column("agreement_version")
        batch_op.drop_column("entry_rule")
        batch_op.drop_column("entry_code")
        batch_op.drop_column("final_runs")
        batch_op.drop_column("unmarked")
        batch_op.drop_column("may_withdraw")
        batch_op.drop_column("ladder_step")
        batch_op.drop_column("naming")
        batch_op.drop_column("names_at")
        batch_op.drop_column("pseudonym_list")
        batch_op.drop_column("pseudonym_seed")
        batch_op.drop_column("archived_at")
    with op.batch_alter_table("run", schema=None, table_args=_checks(RUN)) as batch_op:
        batch_op.drop_constraint(op.f("fk_run_final_by"), type_="foreignkey")
        batch_op.drop_column("final_at")
        batch_op.drop_column("final_by")
    with op.batch_alter_table("phase", schema=None) as batch_op:
        batch_op.drop_constraint(op.f("ck_phase_visibility"), type_="check")
        batch_op.drop_constraint(op.f("ck_phase_at_close"), type_="check")
        batch_op.drop_constraint(op.f("fk_phase_topic_set_id"), type_="foreignkey")
        batch_op.drop_column("position")
        batch_op.drop_column("zone")
        batch_op.drop_column("topic_set_id")
        batch_op.drop_column("visibility")
        batch_op.drop_column("at_close")
        batch_op.drop_column("reveal_at")
        batch_op.drop_column("kinds")
        batch_op.drop_column("account_runs_per_day")
        batch_op.drop_column("account_runs_in_all")
        batch_op.drop_column("largest_bytes")
    with op.batch_alter_table("entry", schema=None) as batch_op:
        batch_op.drop_constraint(op.f("ck_entry_state"), type_="check")
        batch_op.drop_constraint(op.f("fk_entry_agreed_by"), type_="foreignkey")
        batch_op.drop_column("state")
        batch_op.drop_column("why")
        batch_op.drop_column("agreement_version")
        batch_op.drop_column("agreed_at")
        batch_op.drop_column("agreed_by")
    with op.batch_alter_table("account", schema=None) as batch_op:
        batch_op.drop_column("email_confirmed_at")
        batch_op.drop_column("email_bounced_at")
        batch_op.drop_column("deleted_at")
    op.drop_table("grouped_run")
    op.drop_table("mail")
    op.drop_table("invitation_use")
    op.drop_table("grouped_team")
    op.drop_table("upload_batch")
    op.drop_table("task_change")
    op.drop_table("run_group")
    op.drop_table("invitation")
    op.drop_table("former_slug")
    op.drop_table("announcement")
    op.drop_table("identity")


def _make_tables() -> None:
    op.create_table(
        "identity",
        sa.Column("issuer", sa.String(), nullable=False),
        sa.Column("subject", sa.String(), nullable=False),
        sa.Column("account_id", Id, nullable=False),
        sa.Column("created_at", Moment, nullable=False),
        sa.ForeignKeyConstraint(
            ["account_id"], ["account.id"], name=op.f("fk_identity_account_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("issuer", "subject", name=op.f("pk_identity")),
    )
    op.create_index(op.f("ix_identity_account_id"), "identity", ["account_id"], unique=False)
    op.create_table(
        "announcement",
        sa.Column("id", Id, nullable=False),
        sa.Column("task_id", Id, nullable=False),
        sa.Column("account_id", Id, nullable=True),
        sa.Column("title", sa.String(), nullable=False),
        sa.Column("body", sa.String(), nullable=False),
        sa.Column("recipients", sa.JSON(), nullable=False),
        sa.Column("count", Id, nullable=False),
        sa.Column("created_at", Moment, nullable=False),
        sa.ForeignKeyConstraint(["account_id"], ["account.id"], name=op.f("fk_announcement_account_id")),
        sa.ForeignKeyConstraint(
            ["task_id"], ["task.id"], name=op.f("fk_announcement_task_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_announcement")),
    )
    op.create_index(op.f("ix_announcement_task_id"), "announcement", ["task_id"], unique=False)
    op.create_table(
        "former_slug",
        sa.Column("slug", sa.String(), nullable=False),
        sa.Column("task_id", Id, nullable=False),
        sa.Column("created_at", Moment, nullable=False),
        sa.ForeignKeyConstraint(
            ["task_id"], ["task.id"], name=op.f("fk_former_slug_task_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("slug", name=op.f("pk_former_slug")),
    )
    op.create_index(op.f("ix_former_slug_task_id"), "former_slug", ["task_id"], unique=False)
    op.create_table(
        "invitation",
        sa.Column("id", Id, nullable=False),
        sa.Column("token_sha256", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("team_id", Id, nullable=True),
        sa.Column("task_id", Id, nullable=True),
        sa.Column("role", sa.String(), nullable=False),
        sa.Column("note", sa.String(), nullable=False),
        sa.Column("uses_allowed", Id, nullable=True),
        sa.Column("created_by", Id, nullable=True),
        sa.Column("created_at", Moment, nullable=False),
        sa.Column("expires_at", Moment, nullable=True),
        sa.Column("revoked_at", Moment, nullable=True),
        sa.CheckConstraint("kind IN ('site', 'team', 'task', 'review')", name=op.f("ck_invitation_kind")),
        sa.ForeignKeyConstraint(
            ["created_by"], ["account.id"], name=op.f("fk_invitation_created_by"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["task_id"], ["task.id"], name=op.f("fk_invitation_task_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["team_id"], ["team.id"], name=op.f("fk_invitation_team_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_invitation")),
        sa.UniqueConstraint("token_sha256", name=op.f("uq_invitation_token_sha256")),
    )
    op.create_index(op.f("ix_invitation_created_by"), "invitation", ["created_by"], unique=False)
    op.create_index(op.f("ix_invitation_task_id"), "invitation", ["task_id"], unique=False)
    op.create_index(op.f("ix_invitation_team_id"), "invitation", ["team_id"], unique=False)
    op.create_table(
        "run_group",
        sa.Column("id", Id, nullable=False),
        sa.Column("task_id", Id, nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("declared_at", Moment, nullable=False),
        sa.CheckConstraint("kind IN ('teams', 'runs')", name=op.f("ck_run_group_kind")),
        sa.ForeignKeyConstraint(
            ["task_id"], ["task.id"], name=op.f("fk_run_group_task_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_run_group")),
        sa.UniqueConstraint("task_id", "name", name=op.f("uq_run_group_task_id_name")),
    )
    op.create_table(
        "task_change",
        sa.Column("id", Id, nullable=False),
        sa.Column("task_id", Id, nullable=False),
        sa.Column("account_id", Id, nullable=True),
        sa.Column("what", sa.String(), nullable=False),
        sa.Column("before", sa.String(), nullable=False),
        sa.Column("after", sa.String(), nullable=False),
        sa.Column("reason", sa.String(), nullable=False),
        sa.Column("created_at", Moment, nullable=False),
        sa.ForeignKeyConstraint(["account_id"], ["account.id"], name=op.f("fk_task_change_account_id")),
        sa.ForeignKeyConstraint(
            ["task_id"], ["task.id"], name=op.f("fk_task_change_task_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_task_change")),
    )
    op.create_index(op.f("ix_task_change_task_id"), "task_change", ["task_id"], unique=False)
    op.create_table(
        "upload_batch",
        sa.Column("id", Id, nullable=False),
        sa.Column("task_id", Id, nullable=False),
        sa.Column("account_id", Id, nullable=True),
        sa.Column("wishes", sa.JSON(), nullable=False),
        sa.Column("created_at", Moment, nullable=False),
        sa.ForeignKeyConstraint(["account_id"], ["account.id"], name=op.f("fk_upload_batch_account_id")),
        sa.ForeignKeyConstraint(
            ["task_id"], ["task.id"], name=op.f("fk_upload_batch_task_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_upload_batch")),
    )
    op.create_index(op.f("ix_upload_batch_account_id"), "upload_batch", ["account_id"], unique=False)
    op.create_index(op.f("ix_upload_batch_task_id"), "upload_batch", ["task_id"], unique=False)
    op.create_table(
        "grouped_team",
        sa.Column("group_id", Id, nullable=False),
        sa.Column("team_id", Id, nullable=False),
        sa.ForeignKeyConstraint(
            ["group_id"], ["run_group.id"], name=op.f("fk_grouped_team_group_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["team_id"], ["team.id"], name=op.f("fk_grouped_team_team_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("group_id", "team_id", name=op.f("pk_grouped_team")),
    )
    op.create_index(op.f("ix_grouped_team_team_id"), "grouped_team", ["team_id"], unique=False)
    op.create_table(
        "invitation_use",
        sa.Column("invitation_id", Id, nullable=False),
        sa.Column("account_id", Id, nullable=False),
        sa.Column("used_at", Moment, nullable=False),
        sa.ForeignKeyConstraint(
            ["account_id"], ["account.id"], name=op.f("fk_invitation_use_account_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["invitation_id"],
            ["invitation.id"],
            name=op.f("fk_invitation_use_invitation_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("invitation_id", "account_id", name=op.f("pk_invitation_use")),
    )
    op.create_index(op.f("ix_invitation_use_account_id"), "invitation_use", ["account_id"], unique=False)
    op.create_table(
        "mail",
        sa.Column("id", Id, nullable=False),
        sa.Column("account_id", Id, nullable=True),
        sa.Column("announcement_id", Id, nullable=True),
        sa.Column("address", sa.String(), nullable=False),
        sa.Column("subject", sa.String(), nullable=False),
        sa.Column("body", sa.String(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("attempts", Id, nullable=False),
        sa.Column("error", sa.String(), nullable=False),
        sa.Column("created_at", Moment, nullable=False),
        sa.Column("next_at", Moment, nullable=False),
        sa.Column("sent_at", Moment, nullable=True),
        sa.CheckConstraint("state IN ('waiting', 'sent', 'failed', 'bounced')", name=op.f("ck_mail_state")),
        sa.ForeignKeyConstraint(
            ["account_id"], ["account.id"], name=op.f("fk_mail_account_id"), ondelete="SET NULL"
        ),
        sa.ForeignKeyConstraint(
            ["announcement_id"], ["announcement.id"], name=op.f("fk_mail_announcement_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_mail")),
    )
    op.create_index(op.f("ix_mail_account_id"), "mail", ["account_id"], unique=False)
    op.create_index(op.f("ix_mail_state"), "mail", ["state"], unique=False)
    op.create_table(
        "grouped_run",
        sa.Column("group_id", Id, nullable=False),
        sa.Column("run_id", Id, nullable=False),
        sa.ForeignKeyConstraint(
            ["group_id"], ["run_group.id"], name=op.f("fk_grouped_run_group_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["run_id"], ["run.id"], name=op.f("fk_grouped_run_run_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("group_id", "run_id", name=op.f("pk_grouped_run")),
    )
    op.create_index(op.f("ix_grouped_run_run_id"), "grouped_run", ["run_id"], unique=False)


def _widen_tables() -> None:
    with op.batch_alter_table("account", schema=None) as batch_op:
        batch_op.add_column(sa.Column("email_confirmed_at", Moment, nullable=True))
        batch_op.add_column(sa.Column("email_bounced_at", Moment, nullable=True))
        batch_op.add_column(sa.Column("deleted_at", Moment, nullable=True))

    with op.batch_alter_table("entry", schema=None) as batch_op:
        batch_op.add_column(sa.Column("state", sa.String(), server_default="entered", nullable=False))
        batch_op.add_column(sa.Column("why", sa.String(), server_default=sa.text("''"), nullable=False))
        batch_op.add_column(sa.Column("agreement_version", Id, nullable=True))
        batch_op.add_column(sa.Column("agreed_at", Moment, nullable=True))
        batch_op.add_column(sa.Column("agreed_by", Id, nullable=True))
        batch_op.create_foreign_key(batch_op.f("fk_entry_agreed_by"), "account", ["agreed_by"], ["id"])
        batch_op.create_check_constraint(op.f("ck_entry_state"), "state IN ('waiting', 'entered', 'refused')")

    with op.batch_alter_table("phase", schema=None) as batch_op:
        batch_op.add_column(sa.Column("position", Id, server_default="0", nullable=False))
        batch_op.add_column(sa.Column("zone", sa.String(), server_default="UTC", nullable=False))
        batch_op.add_column(sa.Column("topic_set_id", Id, nullable=True))
        batch_op.add_column(sa.Column("visibility", sa.String(), nullable=True))
        batch_op.add_column(sa.Column("at_close", sa.String(), server_default="open", nullable=False))
        batch_op.add_column(sa.Column("reveal_at", Moment, nullable=True))
        batch_op.add_column(sa.Column("kinds", sa.JSON(), server_default="[]", nullable=False))
        batch_op.add_column(sa.Column("account_runs_per_day", Id, nullable=True))
        batch_op.add_column(sa.Column("account_runs_in_all", Id, nullable=True))
        batch_op.add_column(sa.Column("largest_bytes", Id, nullable=True))
        batch_op.create_foreign_key(
            batch_op.f("fk_phase_topic_set_id"), "topic_set", ["topic_set_id"], ["id"]
        )
    with op.batch_alter_table("phase", schema=None) as batch_op:
        batch_op.alter_column("kinds", server_default=None)
        batch_op.create_check_constraint(
            op.f("ck_phase_visibility"), "visibility IN ('open', 'blind', 'sealed')"
        )
        batch_op.create_check_constraint(op.f("ck_phase_at_close"), "at_close IN ('open', 'sealed')")

    with op.batch_alter_table("run", schema=None, table_args=_checks(RUN)) as batch_op:
        batch_op.add_column(sa.Column("final_at", Moment, nullable=True))
        batch_op.add_column(sa.Column("final_by", Id, nullable=True))
        batch_op.create_foreign_key(batch_op.f("fk_run_final_by"), "account", ["final_by"], ["id"])

    with op.batch_alter_table("task", schema=None, table_args=_checks(TASK)) as batch_op:
        batch_op.add_column(sa.Column("contact", sa.String(), server_default=sa.text("''"), nullable=False))
        batch_op.add_column(sa.Column("licence", sa.String(), server_default=sa.text("''"), nullable=False))
        batch_op.add_column(sa.Column("links", sa.JSON(), server_default="[]", nullable=False))
        batch_op.add_column(sa.Column("agreement", sa.String(), server_default=sa.text("''"), nullable=False))
        batch_op.add_column(sa.Column("agreement_version", Id, server_default="0", nullable=False))
        batch_op.add_column(sa.Column("entry_rule", sa.String(), server_default="free", nullable=False))
        batch_op.add_column(
            sa.Column("entry_code", sa.String(), server_default=sa.text("''"), nullable=False)
        )
        batch_op.add_column(sa.Column("final_runs", Id, nullable=True))
        batch_op.add_column(sa.Column("unmarked", sa.String(), server_default="best", nullable=False))
        batch_op.add_column(sa.Column("may_withdraw", sa.Boolean(), server_default=sa.true(), nullable=False))
        batch_op.add_column(sa.Column("ladder_step", sa.Double(), nullable=True))
        batch_op.add_column(sa.Column("naming", sa.String(), server_default="names", nullable=False))
        batch_op.add_column(sa.Column("names_at", Moment, nullable=True))
        for name in ("pseudonym_list", "pseudonym_seed"):
            batch_op.add_column(sa.Column(name, sa.String(), server_default=sa.text("''"), nullable=False))
        batch_op.add_column(sa.Column("archived_at", Moment, nullable=True))
    with op.batch_alter_table("task", schema=None, table_args=_checks(TASK)) as batch_op:
        batch_op.alter_column("links", server_default=None)
        batch_op.create_check_constraint(
            op.f("ck_task_entry_rule"), "entry_rule IN ('free', 'approval', 'code')"
        )
        batch_op.create_check_constraint(op.f("ck_task_unmarked"), "unmarked IN ('best', 'newest')")
        batch_op.create_check_constraint(
            op.f("ck_task_naming"), "naming IN ('names', 'date', 'close', 'team')"
        )

    with op.batch_alter_table("team", schema=None) as batch_op:
        batch_op.add_column(
            sa.Column("affiliation", sa.String(), server_default=sa.text("''"), nullable=False)
        )
        batch_op.add_column(sa.Column("country", sa.String(), server_default=sa.text("''"), nullable=False))
        batch_op.add_column(sa.Column("home_page", sa.String(), server_default=sa.text("''"), nullable=False))
        batch_op.add_column(sa.Column("merged_into_id", Id, nullable=True))
        batch_op.create_foreign_key(batch_op.f("fk_team_merged_into_id"), "team", ["merged_into_id"], ["id"])

    with op.batch_alter_table("qrels_revision", schema=None) as batch_op:
        batch_op.add_column(sa.Column("rounds", sa.String(), server_default=sa.text("''"), nullable=False))

    with op.batch_alter_table("topic_set", schema=None) as batch_op:
        batch_op.add_column(sa.Column("seed", sa.String(), server_default=sa.text("''"), nullable=False))

    with op.batch_alter_table("upload", schema=None, table_args=_checks(UPLOAD)) as batch_op:
        batch_op.add_column(sa.Column("phase_id", Id, nullable=True))
        batch_op.create_foreign_key(batch_op.f("fk_upload_phase_id"), "phase", ["phase_id"], ["id"])
        _drop_check_of_uploads(batch_op)
        batch_op.add_column(sa.Column("batch_id", Id, nullable=True))
        batch_op.add_column(sa.Column("fixed_from_id", Id, nullable=True))
        batch_op.add_column(sa.Column("fixes", sa.JSON(), server_default="[]", nullable=False))
        batch_op.create_index(batch_op.f("ix_upload_batch_id"), ["batch_id"], unique=False)
        batch_op.create_foreign_key(
            batch_op.f("fk_upload_fixed_from_id"), "upload", ["fixed_from_id"], ["id"]
        )
        batch_op.create_foreign_key(batch_op.f("fk_upload_batch_id"), "upload_batch", ["batch_id"], ["id"])
    with op.batch_alter_table("upload", schema=None, table_args=_checks(UPLOAD)) as batch_op:
        _drop_check_of_uploads(batch_op)
        batch_op.alter_column("fixes", server_default=None)


def _check_uploads(checks: Mapping[str, str]) -> None:
    # SQLite's table is made anew with what it checks, see _checks.
    if op.get_bind().dialect.name == "postgresql":
        for name, rule in checks.items():
            op.drop_constraint(op.f(name), "upload", type_="check")
            op.create_check_constraint(op.f(name), "upload", rule)


def _drop_check_of_uploads(batch_op: BatchOperations) -> None:
    """Leave the old check out of SQLite's new table, where this SQLAlchemy reads it with the old one."""
    if op.get_bind().dialect.name != "sqlite":
        return
    read = sa.Table("upload", sa.MetaData(), autoload_with=op.get_bind())
    if any(isinstance(known, sa.CheckConstraint) for known in read.constraints):
        batch_op.drop_constraint(op.f("ck_upload_state"), type_="check")


def _move_invitations() -> None:
    op.execute(
        "INSERT INTO invitation (token_sha256, kind, team_id, role, note, uses_allowed, created_by, "
        "created_at, expires_at, revoked_at) "
        "SELECT token_sha256, 'team', team_id, '', '', 1, NULL, created_at, "
        "expires_at, coalesce(revoked_at, used_at) FROM token WHERE kind = 'invite'"
    )
    op.execute("DELETE FROM token WHERE kind = 'invite'")


def _checks(checks: Mapping[str, str]) -> tuple[sa.CheckConstraint, ...]:
    # SQLite's tables are made anew, and what they check is not read from the old ones.
    return tuple(sa.CheckConstraint(rule, name=op.f(name)) for name, rule in checks.items())


def _move_primary_runs() -> None:
    """A team's primary run becomes the run that it marked; when it was is not known, so when the run came."""
    op.execute(
        "UPDATE run SET final_at = created_at WHERE id IN "
        "(SELECT primary_run_id FROM entry WHERE primary_run_id IS NOT NULL)"
    )
    with op.batch_alter_table("entry", schema=None) as batch_op:
        batch_op.drop_constraint(op.f("fk_entry_primary_run_id_run"), type_="foreignkey")
        batch_op.drop_column("primary_run_id")


def _move_primary_runs_back() -> None:
    """The newest run that a team marked becomes its primary one."""
    with op.batch_alter_table("entry", schema=None) as batch_op:
        batch_op.add_column(sa.Column("primary_run_id", Id, nullable=True))
        batch_op.create_foreign_key(op.f("fk_entry_primary_run_id_run"), "run", ["primary_run_id"], ["id"])
    op.execute(
        "UPDATE entry SET primary_run_id = (SELECT max(run.id) FROM run WHERE run.task_id = entry.task_id "
        "AND run.team_id = entry.team_id AND run.final_at IS NOT NULL)"
    )
