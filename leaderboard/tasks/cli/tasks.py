"""`leaderboard task`: tasks made and listed from the command line."""

from pathlib import Path
from typing import Any

import click

from leaderboard.boards.ops import board
from leaderboard.core.cli import actions
from leaderboard.core.cli.kinds import mapping_option, tell_notes
from leaderboard.core.cli.site import FILE, data_option, opened
from leaderboard.core.kinds import KINDS, RANKINGS
from leaderboard.core.picture_kinds import LOGO, PICTURE, PictureKind
from leaderboard.core.policy import OPERATOR, ORGANISER
from leaderboard.errors import Invalid
from leaderboard.scoring.ops import collections
from leaderboard.tasks.cli import settings
from leaderboard.tasks.ops import drafts, organise, roles
from leaderboard.tasks.ops.drafts import TaskForm
from leaderboard.tasks.ops.pictures import pictures
from leaderboard.tasks.ops.pseudonyms import pseudonyms as drawing
from leaderboard.tasks.ops.pseudonyms.pseudonyms import Naming
from leaderboard.tasks.ops.settings import CHANGE, COMPARISONS
from leaderboard.tasks.page import landing, naming
from leaderboard.tasks.page import settings as pages
from leaderboard.tasks.page.landing import TaskOverview
from leaderboard.tasks.page.members import groups_page


def _command(kind: PictureKind, about: str) -> click.Command:
    @click.command(kind.name, help=about)
    @click.argument("slug")
    @click.argument("file", type=FILE, required=False)
    @click.option(
        "--alt",
        default="",
        help="Alternative text, for screen readers.  [required with FILE; without FILE it replaces the text]",
    )
    @click.option("--remove", is_flag=True, help="Remove it.  [this, FILE or --alt is required]")
    @click.option("--reason", default="", help="Reason; shown to participants of a published task.")
    @data_option
    def command(slug: str, file: Path | None, alt: str, remove: bool, reason: str, data: Path | None) -> None:
        if remove == bool(file or alt):
            raise click.UsageError("Give FILE, --alt or both, or only --remove.")
        action = pictures.REMOVE if remove else pictures.PUT
        with actions.acting(data) as do:
            outcome = do(action, {"alt": alt, "reason": reason}, {"file": file}, slug=slug, kind=kind.name)
        if remove:
            click.echo(f"{slug} no longer has a {kind.name}.")
            return
        picture = outcome.result
        size = f"{picture.width} x {picture.height} pixels"
        click.echo(f"{slug} has a {kind.name} of {size}: {picture.alt}")

    return command


COMMANDS = (
    _command(LOGO, "Set a task's logo, shown small on its pages and on the front page."),
    _command(PICTURE, "Set a task's picture, shown wide on its About page."),
)


@click.group()
def task() -> None:
    """Shared tasks."""


task.add_command(settings.phase)
for command in (*settings.COMMANDS, *COMMANDS):
    task.add_command(command)


@task.command()
@actions.options(
    TaskForm, without=("kind", "template", "description", "measures", "links", "agreement", "map")
)
@click.option("--topics", required=True, type=FILE, help="TREC SGML, XML, JSON, or a table.")
@click.option("--qrels", type=FILE, help="Judgments; you can add them later with `qrels add`.")
@click.option("--documents", type=FILE, help="Documents of a new collection named after the task.")
@click.option("--description", type=FILE, help="A Markdown file.")
@click.option(
    "--kind",
    "kinds",
    type=click.Choice([*drafts.TEMPLATES, *KINDS]),
    multiple=True,
    help="What participants submit [rankings], or a preset of limits, visibility and counted runs, as in "
    "the browser's form; may be given twice.",
)
@click.option("--organiser", help="Account that organises it in the browser [the only organiser].")
@click.option(
    "-m", "--measure", "measures", multiple=True, help="Measure such as nDCG@10 [chosen from the grades]."
)
@mapping_option("the judgments", "--qrels-map", has_topics=True)
@click.option("--draft", is_flag=True, help="Keep the task a draft, visible only to organisers.")
@data_option
def create(
    topics: Path,
    qrels: Path | None,
    documents: Path | None,
    description: Path | None,
    measures: tuple[str, ...],
    mapping: tuple[str, ...],
    draft: bool,
    organiser: str | None,
    kinds: tuple[str, ...],
    data: Path | None,
    **given: Any,
) -> None:
    """Create and publish a task; prints counts and mismatches."""
    values = {
        "kind": next((kind for kind in kinds if kind in KINDS), RANKINGS),
        "template": next((kind for kind in kinds if kind in drafts.TEMPLATES), drafts.LIVING),
        "description": description.read_text(encoding="utf-8") if description else "",
        "measures": measures,
        "map": "\n".join(mapping),
        **actions.chosen(TaskForm, given),
    }
    files = {"topics": topics, "qrels": qrels, "documents": documents}
    with actions.acting(data) as do:
        created, prepared = do(drafts.MAKE, values, files, slug=values["slug"]).result
        slug = created.slug
        click.echo(f"Topics: {prepared.topics}")
        tell_notes(prepared.qrels.warnings if prepared.qrels is not None else ())
        if organiser:
            do(roles.GIVE, {"account": organiser, "role": ORGANISER}, slug=slug)
        else:
            with do.writing() as session:
                roles.adopt(session, OPERATOR)
        if not draft:
            do(organise.PUBLISH, slug=slug)
        with do.reading() as session:
            shown = landing.overview(session, OPERATOR, slug)
            people = pages.people(session, OPERATOR, slug).people
    click.echo("\n".join([*_lines(shown), _organised(slug, [row.name for row in people])]))


def _organised(slug: str, names: list[str]) -> str:
    if names:
        return f"Organised in the browser by: {', '.join(names)}."
    return (
        f"No account organises it in the browser yet; add one with `leaderboard task organiser {slug} "
        "ACCOUNT`."
    )


@task.command()
@click.argument("slug")
@click.argument("method", metavar="METHOD")
@data_option
def comparison(slug: str, method: str, data: Path | None) -> None:
    """Choose how a task's board compares runs.

    METHOD is test+correction (t, wilcoxon, sign or randomisation with holm, bonferroni or bh), tukey or
    randomised_tukey.
    """
    with actions.acting(data) as do:
        do(CHANGE, {"settings": {"comparison": method}}, slug=slug)
    click.echo(f"{slug} compares runs by: {COMPARISONS[method]}.")


@task.command("score-judged")
@click.argument("slug")
@click.option("--all", "count_all", is_flag=True, help="Include all topics again.")
@data_option
def score_judged(slug: str, count_all: bool, data: Path | None) -> None:
    """Require and score only the topics that have judgments."""
    with actions.acting(data) as do:
        outcome = do(organise.SCORE, {"topics": "all" if count_all else "judged"}, slug=slug)
    click.echo(f"{slug} leaves out {outcome.result} unjudged topics.")


@task.command()
@click.argument("slug")
@actions.options(Naming)
@click.option("--show-names", is_flag=True, help="Show all names again and delete the pseudonyms.")
@data_option
def pseudonyms(slug: str, show_names: bool, data: Path | None, **given: Any) -> None:
    """Assign pseudonyms to a task's teams and print them."""
    with actions.acting(data) as do:
        if show_names:
            do(drawing.TAKE_BACK, slug=slug)
        else:
            do(drawing.GIVE, actions.chosen(Naming, given), slug=slug)
        with do.reading() as session:
            teams = naming.naming_page(session, OPERATOR, slug).teams
    for team in teams:
        click.echo(f"{team.pseudonym}\t{team.team}" if team.pseudonym else team.team)


@task.command()
@click.argument("slug")
@click.argument("name")
@click.option("--team", "teams", multiple=True, help="A team of the task, by name; may be repeated.")
@click.option("--run", "runs", multiple=True, type=int, help="A run of the task, by id; may be repeated.")
@data_option
def group(slug: str, name: str, teams: tuple[str, ...], runs: tuple[int, ...], data: Path | None) -> None:
    """Declare a group of teams, or a family of runs, with its own board.

    Significance is tested within a group only if you declare it before the task's first score. Without teams
    and runs, the group is removed.
    """
    with actions.acting(data) as do:
        with do.reading() as session:
            page = groups_page(session, OPERATOR, slug)
        if not teams and not runs:
            gone = next((each.id for each in page.groups if each.name == name), 0)
            do(board.REMOVE, slug=slug, group_id=gone)
            message = f"{slug} no longer has the group {name}."
        else:
            ids = {team: team_id for team_id, team in page.teams.items()}
            if unknown := [team for team in teams if team not in ids]:
                raise Invalid(f"{unknown[0]} is not a team of {slug}; its teams are {', '.join(ids)}.")
            members = {"teams": [ids[team] for team in teams], "runs": runs}
            group = do(board.DECLARE, {"name": name, **members}, slug=slug).result
            tested = "tested within" if group.is_early else "declared after the first score: no verdicts"
            message = f"{name}: {len(group.members)} {group.kind}, {tested}."
    click.echo(message)


@task.command("list")
@data_option
def list_(data: Path | None) -> None:
    """List all tasks and drafts."""
    with opened(data) as (database, _), database.read() as session:
        for row in landing.listing(session, OPERATOR):
            state = "published" if row.published_at else "draft"
            click.echo(
                f"{row.slug}\t{row.name}\t{row.visibility}\t{state}\t{row.topics} topics\t{row.runs} runs"
            )


def _lines(shown: TaskOverview) -> list[str]:
    task, state = shown.of, "published" if shown.of.published_at else "a draft"
    lines = [
        f"Task {task.slug} ({task.name}) is {state}.",
        f"Topics: {shown.topics}. Measures: {', '.join(task.measures)}; ranked by {task.primary_measure}.",
    ]
    if shown.revision is None:
        lines.append("No judgments yet: runs wait unranked. Add judgments with `leaderboard qrels add`.")
        return lines
    grades = ", ".join(f"{grade}: {count}" for grade, count in shown.grades.items())
    lines.append(f"Judgments: {shown.judgments} (grade: number; {grades}).")
    lines += [f"How they were read: {note}" for note in shown.read_as]
    for title, ids in (
        ("Topics without judgments", shown.topics_without_judgments),
        ("Judged ids that are not topics", shown.judged_not_topics),
        ("Judged topics without a relevant document", shown.topics_without_relevant),
    ):
        if ids:
            more = f" and {len(ids) - 10} more" if len(ids) > 10 else ""
            lines.append(f"{title}: {len(ids)} ({', '.join(ids[:10])}{more}).")
    return lines


@click.group()
def collection() -> None:
    """Collections of documents."""


collection.add_command(
    actions.command(collections.ADD, takes="BEIR corpus.jsonl, TREC SGML or TSV; .gz .bz2 .xz .zst too.")
)


@collection.command("list")
@data_option
def list_collections(data: Path | None) -> None:
    """List all collections."""
    with opened(data) as (database, _), database.read() as session:
        for row in collections.listing(session):
            click.echo(f"{row.name}\t{row.size or ''}\t{row.stored}\t{row.link_template}")
