"""A site as it may be after years of tracks, and what its pages cost: `python -m benchmarks.grown --help`.

One task is made and scored as on any site. The others are copies of its rows under ids of their own: topics,
judgments, runs as sent, rankings, scores, boards. They share the collection and the teams, so that each team
has runs in every task. Nothing is kept under digests yet: a page's first view computes it.
"""

import argparse
import multiprocessing
import re
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from multiprocessing.connection import Connection as Pipe
from pathlib import Path
from statistics import median
from typing import Any

from sqlalchemy import (
    Column,
    Connection,
    Select,
    Table,
    bindparam,
    event,
    func,
    insert,
    literal,
    select,
    text,
    update,
)
from sqlalchemy.orm import Session

from benchmarks import cold, measuring, pages, sites, table
from leaderboard import memory
from leaderboard.accounts.ops import names
from leaderboard.application import create_app, load_templates
from leaderboard.boards.page import leaders
from leaderboard.core import phase_rules
from leaderboard.db import schema
from leaderboard.db.engine import Database, of_row
from leaderboard.db.evaluations import DAMAGED_TOO
from leaderboard.db.tables import (
    Account,
    Edition,
    Evaluation,
    EvaluationMean,
    Job,
    Member,
    Run,
    Statistic,
    Team,
    metadata,
)
from leaderboard.scoring.ops.statistics.procedures import field_leaders
from leaderboard.scoring.ops.statistics.requests import of_leaders
from leaderboard.settings import Settings
from leaderboard.site.web.rehearsal import rehearse
from leaderboard.stats import arrays
from leaderboard.web import kept as kept_pages

STRIDE = 1_000_000
"""Between the ids of one copy and those of the next."""
TASKS, RUNS, TOPICS, ACCOUNTS = 200, 250, 50, 500
PASSWORD = "no password has this hash"
COPIED = (
    *("task", "topic", "topic_set", "phase", "qrels", "qrels_revision", "judgment", "edition", "upload"),
    *("upload_chunk", "run", "alignment", "evaluation", "evaluation_mean", "ranking_block", "ranking_index"),
    *("entry", "job", "run_group", "grouped_run", "run_word", "topic_word"),
)
"""Tables whose rows belong to one task."""
SCAN = re.compile(r"Seq Scan on (\w+)")
LARGE_ROWS = 1000
"""Of a table with fewer it is quicker to read all."""
NOT_MADE = {"people and machine", "audit of the pool"}
"""Pages that need a sample, or a pool that was made here."""
TARGET_MS = 60.0
LARGE: Sequence[tuple[str, str]] = (
    ("home", "/"),
    ("tasks by the API", "/api/v1/tasks"),
    ("search, every run", "/search?q=run"),
    ("search, a name", "/search?q={name}"),
    ("search, a team", "/search?q=team+1"),
    ("search, nothing", "/search?q=zebra"),
    ("a team", "/teams/{team}"),
    ("board", "/tasks/{slug}"),
)
"""Pages that a large site makes no slower: what is timed, and its address."""
MOST_CPU_MS = 100.0
"""For each of them, made again, also for the first reader after a start."""
HEADS = ("page", "first ms", "again ms", "CPU", "SQL", "over")
UNIQUE = {("task", "slug"), ("task", "name"), ("upload", "idempotency_key")}
"""Texts that no two rows may share."""
SUMMED = ("run_id", "revision_id", "measure", "measure_version", "dialect")
"""What the checksum of an evaluation is of."""
PLAIN_IDS = {("job", "subject_id"), ("job", "edition_id")}
"""Ids that no foreign key says are ids."""


def size(runs: int, topics: int = TOPICS) -> pages.Site:
    """A task with 500 judgments for each topic."""
    return pages.Site(runs=runs, topics=topics, retrieved=100, pooled=1000, judged=500)


def grow(database: Database, tasks: int, accounts: int) -> None:
    """Copy the site's one task to reach this number, and make accounts that belong to its teams."""
    with database.engine.begin() as connection:
        for owned in COPIED:
            largest = connection.scalar(_largest_id(metadata.tables[owned]))
            assert largest is None or largest < STRIDE, f"{owned} has ids up to {largest}"
        _add_accounts(connection, accounts)
    for copy in range(1, tasks):
        with database.engine.begin() as connection:
            _copy_task(connection, copy * STRIDE)
        print(f"\rtask {copy + 1} of {tasks}", end="", file=sys.stderr)
    print(file=sys.stderr)
    _store_leaders(database)
    with database.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        if not database.is_sqlite:
            for owned in COPIED:
                _set_sequence(connection, metadata.tables[owned])
            connection.execute(text("VACUUM"))
        connection.execute(text("ANALYZE"))


def _largest_id(owned: Table) -> Select[Any]:
    return select(func.max(owned.c.id)) if "id" in owned.c else select(literal(0))


def _copy_task(connection: Connection, shift: int) -> None:
    for owned in metadata.sorted_tables:
        if owned.name in COPIED:
            rows = select(*(_copied(column, shift) for column in owned.c)).where(*_of_first(owned))
            connection.execute(insert(owned).from_select(list(owned.c.keys()), rows))
    _shift_sets(connection, shift)
    _sum_copies(connection, shift)


def _shift_sets(connection: Connection, shift: int) -> None:
    """Give the copied editions their own topic sets and, as these are in it, their own checksum."""
    with Session(connection, execution_options=DAMAGED_TOO) as session:
        for edition in session.scalars(select(Edition).where(Edition.id.between(shift, shift + STRIDE - 1))):
            sets = edition.topic_sets.items()
            edition.topic_sets = {name: facts | {"id": facts["id"] + shift} for name, facts in sets}
        session.flush()


def _sum_copies(connection: Connection, shift: int) -> None:
    """Give each of the scores and means copied the checksum of its own ids: else pages leave it out."""
    evaluation, mean = Evaluation.__table__, EvaluationMean.__table__
    scores = [getattr(Evaluation, name) for name in ("id", *SUMMED)]
    own = Evaluation.id.between(shift, shift + STRIDE - 1)
    sums = [
        {"of": row[0], "checksum": of_row(tuple(row[1:]))}
        for row in connection.execute(select(*scores).where(own))
    ]
    connection.execute(update(evaluation).where(evaluation.c.id == bindparam("of")), sums)
    means = select(mean.c.evaluation_id, mean.c.topic_set_id, mean.c.mean, mean.c.topics)
    sums = [
        {"of": row[0], "over": row[1], "checksum": of_row(tuple(row))}
        for row in connection.execute(means.where(mean.c.evaluation_id.between(shift, shift + STRIDE - 1)))
    ]
    one = (mean.c.evaluation_id == bindparam("of")) & (mean.c.topic_set_id == bindparam("over"))
    connection.execute(update(mean).where(one), sums)


def _copied(column: "Column[Any]", shift: int) -> Any:
    place = column.table.name, column.name
    targets = {key.column.table.name for key in column.foreign_keys}
    if column.name == "id" or targets & set(COPIED) or place in PLAIN_IDS:
        return column + shift
    return column + f"-{shift // STRIDE}" if place in UNIQUE else column


def _of_first(owned: Table) -> Iterator[Any]:
    """The rows of the first task: those whose ids were not shifted."""
    for column in owned.primary_key:
        if column.name == "id" or {key.column.table.name for key in column.foreign_keys} & set(COPIED):
            yield column < STRIDE
    if owned.name == Job.__tablename__:
        yield Job.dedupe_key.is_(None)


def _store_leaders(database: Database) -> None:
    """What evaluators store of every board: of the copies that of the first task, under ids of their own."""
    with database.write() as session:
        (first,) = session.scalars(
            select(Statistic).where(Statistic.request["procedure"].as_string() == field_leaders.PROCEDURE)
        )
        result, facts = arrays.unpack(first.result or b""), first.request
        rules = phase_rules.rules_of_all(session)
        phases = {task_id: phases[0] for task_id, phases in rules.items()}
        rests_on = leaders.bases(session, phases)
        editions = {task_id: basis.source.edition_id for task_id, basis in rests_on.items()}
        states = field_leaders.states(session, phases, editions)
        for task_id, state in states.items():
            basis = rests_on[task_id]
            request = of_leaders(basis.source, basis.measure, basis.version, state.text)
            if request.digest == first.digest:
                continue
            shifted = result | {"leaders": result["leaders"] + (editions[task_id] - first.edition_id)}
            session.add(
                Statistic(
                    edition_id=editions[task_id],
                    digest=request.digest,
                    request=facts,
                    result=arrays.pack(shifted),
                    progress=1.0,
                    created_at=first.created_at,
                    computed_at=first.computed_at,
                )
            )


def _set_sequence(connection: Connection, owned: Table) -> None:
    if "id" in owned.c:
        sequence = func.pg_get_serial_sequence(owned.name, "id")
        connection.execute(select(func.setval(sequence, _largest_id(owned).scalar_subquery())))


def _add_accounts(connection: Connection, count: int) -> None:
    team_ids = connection.scalars(select(Team.id).order_by(Team.id)).all()
    now = connection.scalar(select(func.max(Run.created_at)))
    for number in range(count):
        name = f"Person {number}"
        row = {"name": name, "password_hash": PASSWORD, "is_organiser": False, "created_at": now}
        row |= {"canonical": names.canonical(name), "skeleton": names.skeleton(name)}
        account_id = connection.execute(insert(Account).values(row)).inserted_primary_key[0]  # type: ignore[index]
        member = {"team_id": team_ids[number % len(team_ids)], "account_id": account_id, "joined_at": now}
        connection.execute(insert(Member).values(member | {"role": "member"}))
    # What organisers filed would wait for the team's word before its page shows it.
    connection.execute(update(Run).values(filed=False))


def counts(database: Database) -> str:
    """A line of how large the site is."""
    with database.read() as session:
        numbers = {
            name: session.scalar(select(func.count()).select_from(metadata.tables[name]))
            for name in ("task", "run", "judgment", "evaluation", "account", "team")
        }
    return ", ".join(f"{number:,} {name}" for name, number in numbers.items())


def first_views(database: Database, folder: Path) -> Iterator[str]:
    """A row for every page that a large site makes no slower, each opened first by a process of its own."""
    # Not the task that is rehearsed, the last one.
    about = sites.objects(database, -2)
    url = database.engine.url.render_as_string(hide_password=False)
    database.dispose()
    # As web processes are: a copy of another one would pay for the memory that it begins to share no more.
    context = multiprocessing.get_context("spawn")
    for title, address in LARGE:
        ours, theirs = context.Pipe(duplex=False)
        process = context.Process(target=_open, args=(theirs, url, folder, address.format(**about)))
        process.start()
        theirs.close()
        costs, whole = ours.recv()
        process.join()
        first, again = costs[0].cpu, median(cost.cpu for cost in costs[1:])
        over = "over" if max(first, again) > MOST_CPU_MS else ""
        scanned = ", ".join(sorted(whole)) if not database.is_sqlite else "–"
        yield f"| {title} | {first:.0f} | {again:.0f} | {costs[1].wall:.0f} | {scanned} | {over} |"


def _open(answer: Pipe, url: str, folder: Path, path: str) -> None:
    database = Database(url)
    app = create_app(Settings(data=folder, database_url=url), database)
    load_templates(app, folder)
    kept_pages.register_pages(app, 0)
    rehearse(app, database)
    # Copies share the digests of what is computed of them: what was rehearsed would be found for all.
    memory.budget.most = 0
    memory.budget.most = memory.USUAL
    client = app.test_client()
    # The connection is no page's own work. It may say that no evaluator runs: none does.
    client.get("/healthz")
    sent: dict[str, Any] = {}
    event.listen(database.engine, "before_cursor_execute", lambda *facts: sent.update({facts[2]: facts[3]}))
    costs = [cold.asked(client, path) for _ in range(6)]
    answer.send((costs, set() if database.is_sqlite else scanned(database, sent)))
    answer.close()


def scanned(database: Database, sent: Mapping[str, Any]) -> set[str]:
    """The large tables that some of the statements read from end to end, as PostgreSQL plans them."""
    found = set()
    with database.engine.connect() as connection:
        for statement, values in list(sent.items()):
            if statement.startswith(("SELECT", "WITH")):
                explained = connection.exec_driver_sql(f"EXPLAIN {statement}", values).scalars()
                found |= {match[1] for line in explained if (match := SCAN.search(line))}
        rows = "SELECT relname FROM pg_class WHERE relkind = 'r' AND reltuples >= %(rows)s"
        return found & set(connection.exec_driver_sql(rows, {"rows": LARGE_ROWS}).scalars())


def measured(database: Database, folder: Path, repeats: int) -> Iterator[str]:
    """A row of the table for every kind of page of the last task."""
    app = create_app(Settings(data=folder, database_url=str(database.engine.url)), database)
    kept_pages.register_pages(app, 0)
    client = app.test_client()
    first, last = sites.objects(database), sites.objects(database, -1)
    for title, address in cold.KINDS:
        if title not in NOT_MADE:
            # Programs, templates and statements are compiled by another task's page.
            cold.asked(client, address.format(**first))
            path = address.format(**last)
            once = cold.asked(client, path)
            with pages.counted(database) as sent:
                cold.asked(client, path)
            again = [cold.asked(client, path) for _ in range(repeats)]
            wall, cpu = (median(getattr(cost, name) for cost in again) for name in ("wall", "cpu"))
            over = "over" if wall > TARGET_MS else ""
            yield f"| {title} | {once.wall:.0f} | {wall:.0f} | {cpu:.0f} | {len(sent)} | {over} |"


def main(arguments: Sequence[str] | None = None) -> None:
    """Make the site where it is not there yet, and print its size and the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--url", help="an empty database, or one that this made; SQLite in a temporary folder"
    )
    parser.add_argument("--tasks", type=int, default=TASKS)
    parser.add_argument("--runs", type=int, default=RUNS, help="of each task")
    parser.add_argument("--topics", type=int, default=TOPICS, help="of each task")
    parser.add_argument("--accounts", type=int, default=ACCOUNTS)
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--large-only", action="store_true", help="only pages that must not grow with a site")
    given = parser.parse_args(arguments)
    print(table.facts(measuring.machine()))
    with tempfile.TemporaryDirectory() as passing:
        database = Database(given.url or f"sqlite:///{Path(passing) / 'site.sqlite3'}")
        try:
            if not schema.current(database):
                pages.fill(database, Path(passing), size(given.runs, given.topics))
                grow(database, given.tasks, given.accounts)
                with database.engine.begin() as connection:
                    # As a database does by itself before long: plans rest on what it has counted.
                    connection.execute(text("ANALYZE"))
            print(f"\n{database.engine.dialect.name}: {counts(database)}\n")
            print("| page | first CPU | again CPU | again ms | tables read whole | over |")
            print("|---|---:|---:|---:|---|---|")
            for row in first_views(database, Path(passing)):
                print(row, flush=True)
            if given.large_only:
                return
            print(f"\n| {' | '.join(HEADS)} |\n|---{'|---:' * (len(HEADS) - 2)}|---|")
            for row in measured(database, Path(passing), given.repeats):
                print(row, flush=True)
        finally:
            database.dispose()


if __name__ == "__main__":
    main()
