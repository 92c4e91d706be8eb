"""The tables of a combined board: its runs, and whom the machine favours."""

from typing import Any

from leaderboard.pages.combined import plans
from leaderboard.pages.combined.board import CombinedPage
from leaderboard.pages.combined.favoured import FavouredRuns
from leaderboard.pages.combined.standings import CombinedRow
from leaderboard.stats.combined.bias import VERSION
from leaderboard.tables.record import Column, Files, Place, Table


def runs_table(page: CombinedPage) -> Table[CombinedRow]:
    """The ranked runs by people and machine together, by each alone, and how they move."""
    digits = page.column.digits if page.column else None
    key = page.column.key if page.column else ""
    return Table(
        name=page.name,
        caption=_caption(page, f"Ranked runs by {key}, by people and machine together"),
        columns=[
            Column(key="rank", head="Rank", value=lambda row: row.rank, digits=0),
            Column(key="rank_low", value=lambda row: row.place and row.place.rank_low, shown=Place.DATA),
            Column(key="rank_high", value=lambda row: row.place and row.place.rank_high, shown=Place.DATA),
            Column(key="run", head="Run", value=lambda row: row.name),
            Column(key="run_id", value=lambda row: row.run_id, shown=Place.DATA),
            Column(key="team", head="Team", value=lambda row: row.team, shown=~Place.PAGE),
            Column(key="score", head=f"{key}, combined", value=lambda row: row.score, digits=digits),
            _end("low", "From", digits),
            _end("high", "To", digits),
            Column(
                key="verdict",
                head="Beats · undecided · beaten by",
                value=_verdict,
                words=_verdict,
                shown=Place.PAGE,
            ),
            *(_of_place(name) for name in ("beats", "undecided", "beaten_by", "best_set")),
            Column(key="machine", head="By the machine", value=lambda row: row.machine, digits=digits),
            Column(key="machine_rank", head="Rank", value=lambda row: row.machine_rank, digits=0),
            Column(key="move", head="Move", value=lambda row: row.move, digits=0),
            Column(key="people", head="By people alone", value=lambda row: row.people, digits=digits),
            Column(key="people_rank", head="Rank", value=lambda row: row.people_rank, digits=0),
            Column(key="outside", value=lambda row: row.outside, shown=Place.DATA),
        ],
        rows=page.board.rows if page.board else (),
    )


def teams_table(page: CombinedPage) -> Table[FavouredRuns]:
    """What the machine gives each team's runs beyond what it gives others for documents like theirs."""
    name: Column[FavouredRuns] = Column(key="team", head="Team", value=lambda row: row.name)
    return _favoured(page, "teams", name, page.board.teams if page.board else ())


def models_table(page: CombinedPage) -> Table[FavouredRuns]:
    """The same of the runs that declare each family of language models, the machine's own among them."""
    name: Column[FavouredRuns] = Column(
        key="model",
        head="Model",
        value=lambda row: row.name,
        words=lambda row: f"{row.name}, the judge’s own" if row.is_own else row.name,
    )
    own: Column[FavouredRuns] = Column(key="is_own", value=lambda row: row.is_own, shown=Place.DATA)
    return _favoured(page, "models", name, page.board.models if page.board else (), own)


def _favoured(
    page: CombinedPage,
    what: str,
    name: Column[FavouredRuns],
    rows: tuple[FavouredRuns, ...],
    *more: Column[FavouredRuns],
) -> Table[FavouredRuns]:
    digits = page.column.digits if page.column else None
    return Table(
        name=f"{page.name}-{what}",
        caption=_caption(page, "What the machine gives runs beyond others for documents like theirs"),
        columns=[
            name,
            Column(key="runs", head="Runs", value=lambda row: row.runs, digits=0),
            Column(key="favour", head="Favour", value=lambda row: row.favour.mean, digits=digits),
            Column(key="low", head="From", value=lambda row: row.favour.low, digits=digits),
            Column(key="high", head="To", value=lambda row: row.favour.high, digits=digits),
            Column(key="p", head="p", value=lambda row: row.favour.adjusted, digits=4),
            Column(
                key="is_favoured",
                head="Favoured",
                value=lambda row: row.favour.is_favoured,
                words=lambda row: "yes" if row.favour.is_favoured else "not found",
            ),
            Column(
                key="visible", head="Would show from", value=lambda row: row.favour.visible, digits=digits
            ),
            *more,
        ],
        rows=rows,
    )


def facts(page: CombinedPage) -> dict[str, Any]:
    """The page as plain values at full precision."""
    sample = page.sample
    return {
        "task": page.slug,
        "measure": page.column.key if page.column else None,
        "refused": list(page.refused),
        "sample": None
        if sample is None
        else {
            "pool": sample.number,
            "design": "topics" if sample.is_of_topics else "documents",
            "share": sample.share,
            "seed": sample.seed,
            "revision": sample.revision,
            "revision_sha256": sample.source.revision_sha256,
            "labels_sha256": sample.digest,
            "machine": sample.machine,
            "documents": sample.documents,
            "drawn": sample.drawn,
            "judged": sample.judged,
            "topics": list(sample.source.topics),
            "topics_drawn": sample.topics,
        },
        "runs": runs_table(page).facts(),
        "teams": teams_table(page).facts(),
        "models": models_table(page).facts(),
        "favour_version": VERSION,
        "machine_share": page.board.believed if page.board else None,
        "plan": plans.facts(page.board.plan) if page.board and page.board.plan else None,
    }


FILES = Files(facts=facts, tables={"runs": runs_table, "teams": teams_table, "models": models_table})


def _end(name: str, head: str, digits: int | None) -> Column[CombinedRow]:
    """An end of the interval, which the page writes below the score."""
    return Column(key=name, head=head, value=lambda row: getattr(row, name), digits=digits, shown=~Place.PAGE)


def _of_place(name: str) -> Column[CombinedRow]:
    return Column(key=name, value=lambda row: row.place and getattr(row.place, name), shown=Place.DATA)


def _verdict(row: CombinedRow) -> str | None:
    place = row.place
    if place is None:
        return None
    beaten = f"{place.beaten_by}+" if place.beaten_by and not place.named else f"{place.beaten_by}"
    return f"{place.beats} · {place.undecided} · {beaten}"


def _caption(page: CombinedPage, what: str) -> str:
    sample = page.sample
    if sample is None:
        return f"{what} on {page.task}."
    return (
        f"{what} on {page.task}: {sample.finished} topics, sample {sample.number} of the machine’s revision "
        f"{sample.revision}."
    )
