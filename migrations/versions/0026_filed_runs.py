"""Who entered a team in a task, and which runs organisers filed for a team.

Revision ID: 0026
Revises: 0025
"""

from collections.abc import Iterator, Mapping
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0026"
down_revision = "0025"
branch_labels = None
depends_on = None

Id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
Moment = sa.DateTime(timezone=True)
CHECKS = {
    "entry": {"ck_entry_state": "state IN ('waiting', 'entered', 'refused')"},
    "run": {"ck_run_kind": "kind IN ('official', 'baseline', 'late', 'unofficial')"},
}
WAITING = ("received", "held")
BY_ORGANISERS = ("list", "folder")
"""What a batch says whose files belong to teams of a list or of folders."""


def _table(name: str, *columns: str, **kinds: sa.types.TypeEngine[Any]) -> sa.TableClause:
    return sa.table(name, *map(sa.column, columns), *(sa.column(*each) for each in kinds.items()))


MEMBER = _table("member", "team_id", "account_id", joined_at=Moment)
ROLE = _table("task_role", "task_id", "account_id", "role")
BATCH = _table("upload_batch", "id", wishes=sa.JSON())
UPLOAD = _table(
    *("upload", "id", "task_id", "team_id", "account_id", "batch_id", "state"),
    wishes=sa.JSON(),
    created_at=Moment,
)
RUN = _table("run", "upload_id", filed=sa.Boolean())
ENTRY = _table("entry", "id", "task_id", "team_id", "agreed_by", "entered_by", "state")
AUDIT = _table("audit", "id", "account_id", "action", "subject", detail=sa.JSON())
ACCOUNT = _table("account", "id")


def upgrade() -> None:
    """Add the columns; for what is stored count as a member only whom the records show to be one."""
    with op.batch_alter_table("entry", table_args=_checks("entry")) as batch_op:
        batch_op.add_column(sa.Column("entered_by", Id, nullable=True))
        batch_op.create_foreign_key(batch_op.f("fk_entry_entered_by"), "account", ["entered_by"], ["id"])
    with op.batch_alter_table("run", table_args=_checks("run")) as batch_op:
        batch_op.add_column(sa.Column("filed", sa.Boolean(), server_default=sa.false(), nullable=False))
        batch_op.add_column(sa.Column("agreed_at", Moment, nullable=True))
        batch_op.add_column(sa.Column("agreed_by", Id, nullable=True))
        batch_op.create_foreign_key(batch_op.f("fk_run_agreed_by"), "account", ["agreed_by"], ["id"])
    _Stored(op.get_bind()).note()


def downgrade() -> None:
    """Forget who filed and who entered."""
    with op.batch_alter_table("run", table_args=_checks("run")) as batch_op:
        batch_op.drop_constraint(op.f("fk_run_agreed_by"), type_="foreignkey")
        batch_op.drop_column("agreed_by")
        batch_op.drop_column("agreed_at")
        batch_op.drop_column("filed")
    with op.batch_alter_table("entry", table_args=_checks("entry")) as batch_op:
        batch_op.drop_constraint(op.f("fk_entry_entered_by"), type_="foreignkey")
        batch_op.drop_column("entered_by")


def _checks(table: str) -> list[sa.CheckConstraint]:
    return [sa.CheckConstraint(rule, name=op.f(name)) for name, rule in CHECKS[table].items()]


class _Stored:
    """What the stored rows say of who was a member when, and of who organises."""

    def __init__(self, bind: sa.Connection) -> None:
        self.bind = bind
        self.joined = {
            (row.team_id, row.account_id): row.joined_at for row in bind.execute(sa.select(MEMBER))
        }
        roles = sa.select(ROLE).where(ROLE.c.role == "organiser")
        self.organisers = {(row.task_id, row.account_id) for row in bind.execute(roles)}
        wishes = bind.execute(sa.select(BATCH.c.id, BATCH.c.wishes))
        self.for_teams = {row.id for row in wishes if (row.wishes or {}).get("team") in BY_ORGANISERS}

    def note(self) -> None:
        """Mark the filed runs, and say who entered the teams that entered by themselves."""
        entrants = dict(self._by_form())
        for row in self.bind.execute(sa.select(UPLOAD).order_by(UPLOAD.c.id)).all():
            if self._is_filed(row):
                self._mark(row)
            elif row.state == "accepted" and self._was_member(row) and not self._organises(row):
                entrants.setdefault((row.task_id, row.team_id), row.account_id)
        for row in self.bind.execute(sa.select(ENTRY)).all():
            by = entrants.get((row.task_id, row.team_id))
            if by is None and row.agreed_by is not None and not self._organises_as(row, row.agreed_by):
                by = row.agreed_by
            if by is not None:
                self.bind.execute(sa.update(ENTRY).where(ENTRY.c.id == row.id).values(entered_by=by))

    def _by_form(self) -> Iterator[tuple[tuple[int, int], int]]:
        """Who entered which team by the form, which only its members can."""
        acts = sa.select(AUDIT).where(AUDIT.c.action == "entry.enter", AUDIT.c.account_id.is_not(None))
        known = set(self.bind.scalars(sa.select(ACCOUNT.c.id)))
        for row in self.bind.execute(acts.order_by(AUDIT.c.id.desc())).all():
            task_id = int(row.subject.removeprefix("task:"))
            if row.account_id in known and (task_id, row.account_id) not in self.organisers:
                yield (task_id, row.detail["team"]), row.account_id

    def _is_filed(self, row: Any) -> bool:
        """Only members and organisers send: who organises and was no member then filed it."""
        if row.account_id is None or (row.batch_id in self.for_teams and not self._was_member(row)):
            return True
        if (row.wishes or {}).get("execution"):
            return True
        return self._organises(row) and not self._was_member(row)

    def _mark(self, row: Any) -> None:
        self.bind.execute(sa.update(RUN).where(RUN.c.upload_id == row.id).values(filed=True))
        if row.state in WAITING:
            wishes: Mapping[str, Any] = {**row.wishes, "filed": True}
            self.bind.execute(sa.update(UPLOAD).where(UPLOAD.c.id == row.id).values(wishes=wishes))

    def _was_member(self, row: Any) -> bool:
        joined = self.joined.get((row.team_id, row.account_id))
        return joined is not None and joined <= row.created_at

    def _organises(self, row: Any) -> bool:
        return self._organises_as(row, row.account_id)

    def _organises_as(self, row: Any, account_id: int) -> bool:
        return (row.task_id, account_id) in self.organisers
