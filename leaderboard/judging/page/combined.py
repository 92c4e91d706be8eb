"""Boards that combine judgments by people and by a machine."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy import typing as npt
from sqlalchemy.orm import Session

from leaderboard.answers.page.nuggets.facts import require_rankings
from leaderboard.boards.ops.rows import Row, rank, read_rows
from leaderboard.boards.page import view
from leaderboard.core import policy
from leaderboard.core.policy import TaskAccess, Viewer
from leaderboard.db.tables import Task
from leaderboard.errors import NotFound, UnknownMeasure
from leaderboard.judging.ops import combined
from leaderboard.judging.ops.combined import (
    MOST_PLACES,
    CombinedScores,
    JudgedSample,
    can_be_combined,
    combined_scores,
    depth_of,
    judged_sample,
    top_of,
    worth_of,
)
from leaderboard.measures.binding import BoundMeasure
from leaderboard.measures.grammar import parse
from leaderboard.scoring.ops.evaluations.shown import FloatArray, ShownEdition, scores_of, shown_edition
from leaderboard.scoring.ops.run_facts import RunName
from leaderboard.scoring.ops.scored_topics import MeasureColumn, TaskHead, column_of
from leaderboard.scoring.ops.statistics.standings import Place, too_few_topics, varies
from leaderboard.stats.combined import whole_topics
from leaderboard.stats.combined.labels import FloatArray as LabelsFloatArray
from leaderboard.stats.combined.labels import Labels, ValueOf
from leaderboard.stats.combined.measures import NOWHERE, discounts, ideal_dcg
from leaderboard.stats.combined.planning import LEAST_OTHERS, VERSION, Contrast, Favour, Plan, favours, plan
from leaderboard.stats.combined.sample import inclusion
from leaderboard.stats.combined.whole_topics import TopicPlan, WholeTopics
from leaderboard.stats.pairs.corrections import LEVEL
from leaderboard.stats.pairs.methods import PairTable, all_pairs, method
from leaderboard.stats.reliability import half_width
from leaderboard.stats.standing import topics_to_decide, verdicts, widest_pair
from leaderboard.tables.record import Column, Files, Shown, Table, columns_from
from leaderboard.tables.record import Place as On
from leaderboard.trec.facts import families

IntArray = npt.NDArray[np.int64]

METHOD = "t+holm"


@dataclass(frozen=True, slots=True, eq=False)
class EstimatedScores:
    """Combined means (runs,) with half their 95 % intervals, and means by the machine and by people only.

    compare tests pairs of chosen runs, combined or by people only. believed is the share
    of the machine's scores that a board of complete topics uses, None if documents were drawn.
    """

    combined: FloatArray
    half: FloatArray
    machine: FloatArray
    people: FloatArray
    compare: Callable[[IntArray, str], PairTable]
    whole: WholeTopics | None = None
    believed: float | None = None


def estimated(sample: JudgedSample, scores: CombinedScores, by_machine: FloatArray) -> EstimatedScores:
    """The estimates of a sample; by_machine: (runs, topics), on all of `everything`."""
    return (
        _of_topics(sample, scores, by_machine) if sample.is_of_topics else _of_documents(scores, by_machine)
    )


def _of_documents(scores: CombinedScores, by_machine: FloatArray) -> EstimatedScores:
    of = {"combined": scores.combined, "people": scores.people}
    sds = scores.combined.std(axis=1, ddof=1).tolist()
    topics = scores.combined.shape[1]
    return EstimatedScores(
        combined=scores.combined.mean(axis=1),
        half=np.array([half_width(sd, topics) for sd in sds]),
        machine=by_machine.mean(axis=1),
        people=scores.people.mean(axis=1),
        compare=lambda chosen, order: all_pairs(of[order][chosen], method(METHOD), seed=1),
    )


def _of_topics(sample: JudgedSample, scores: CombinedScores, by_machine: FloatArray) -> EstimatedScores:
    place = {topic: at for at, topic in enumerate(sample.everything.topics)}
    judged = np.array([place[topic] for topic in sample.source.topics], dtype=np.int64)
    whole = WholeTopics(scores.combined, by_machine, judged)
    share = whole_topics.believed(whole)
    estimates = whole_topics.estimates(whole, share)

    def compare(chosen: IntArray, order: str) -> PairTable:
        part = WholeTopics(whole.people[chosen], whole.machine[chosen], judged)
        return whole_topics.pair_table(part, share if order == "combined" else 0.0)

    return EstimatedScores(
        combined=estimates.mean,
        half=estimates.high - estimates.mean,
        machine=by_machine.mean(axis=1),
        people=scores.combined.mean(axis=1),
        compare=compare,
        whole=whole,
        believed=share,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class FavouredRuns:
    """Extra score that the machine gives some runs, compared with others with comparable documents.

    name: of the team, or of the declared family of language models.
    """

    name: str
    runs: int
    favour: Favour
    is_own: bool = False
    """Whether this is the family of the judging machine."""


class FavourSeen(NamedTuple):
    """Input of the favour test: labels, the value of grades, and the weight of documents in runs.

    placed: (runs, judged documents), in the order of the labels.
    """

    labels: Labels
    value_of: ValueOf
    placed: LabelsFloatArray


def by_team(rows: Sequence[Row], seen: FavourSeen) -> tuple[FavouredRuns, ...]:
    """By team, most favoured first; without teams that have too few comparable runs or distinct documents."""
    members: dict[str, list[int]] = {}
    for at, row in enumerate(rows):
        members.setdefault(row.team, []).append(at)
    return _favoured_teams(_compared(members, rows), seen)


def by_model(rows: Sequence[Row], seen: FavourSeen, machine: str) -> tuple[FavouredRuns, ...]:
    """By model family, most favoured first; machine: the judge, whose own family is marked.

    A family is left out if too few runs do not declare it.
    """
    members: dict[str, list[int]] = {}
    for at, row in enumerate(rows):
        declared = view.of_row(row).get("llm")
        for family in families(declared.text) if declared else ():
            members.setdefault(family, []).append(at)
    return _favoured_teams(_compared(members, rows), seen, families(machine))


def _compared(members: Mapping[str, list[int]], rows: Sequence[Row]) -> dict[str, list[int]]:
    return {name: runs for name, runs in members.items() if len(rows) - len(runs) >= LEAST_OTHERS}


def _favoured_teams(
    members: Mapping[str, Sequence[int]], seen: FavourSeen, own: frozenset[str] = frozenset()
) -> tuple[FavouredRuns, ...]:
    if not members:
        return ()
    team_favours = favours(*seen, list(members.values()))
    groups = [
        FavouredRuns(name=name, runs=len(runs), favour=favour, is_own=name in own)
        for (name, runs), favour in zip(members.items(), team_favours, strict=True)
        if favour is not None
    ]
    return tuple(sorted(groups, key=lambda group: (-group.favour.mean, group.name)))


STEP = 0.05
"""Step between the larger shares that are tried."""
ALPHA = 0.05


@dataclass(frozen=True, slots=True)
class MachinePlan:
    """The plan for the top two runs, the better one first."""

    first: str
    second: str
    plan: Plan | TopicPlan

    @property
    def is_of_topics(self) -> bool:
        """Whether the plan is about complete topics, not documents."""
        return isinstance(self.plan, TopicPlan)


def plan_of(
    sample: JudgedSample,
    bound: BoundMeasure,
    scores: CombinedScores,
    runs: tuple[int, int],
    names: tuple[str, str],
) -> MachinePlan | None:
    """Judging needed to separate two runs, by position; None unless the measure sums over ranks."""
    weighed = _weights(sample, bound)
    if weighed is None:
        return None
    weights, value_of = weighed
    first, second = runs
    by_document = [np.zeros(len(sample.labels.people)) for _ in runs]
    for documents, ranking in zip(by_document, scores.rankings_of(runs), strict=True):
        places = ranking[:, : weights.shape[1]]
        is_ranked = places != NOWHERE
        documents[places[is_ranked]] = weights[is_ranked]
    contrast = Contrast(scores.combined[first] - scores.combined[second], by_document[0] - by_document[1])
    level = ALPHA / max(1, len(scores.combined) - 1)
    return MachinePlan(*names, plan(sample.labels, contrast, value_of, _larger(sample, scores), level=level))


def plan_of_topics(
    whole: WholeTopics, share: float, runs: tuple[int, int], names: tuple[str, str]
) -> MachinePlan:
    """Judging needed to separate two runs, by position, if people judge complete topics."""
    level = ALPHA / max(1, len(whole.people) - 1)
    return MachinePlan(*names, whole_topics.plan(whole, share, runs, level=level))


def plan_facts(machine_plan: MachinePlan) -> dict[str, Any]:
    """The plan as plain values."""
    return {"first": machine_plan.first, "second": machine_plan.second, **asdict(machine_plan.plan)}


def _weights(sample: JudgedSample, bound: BoundMeasure) -> tuple[LabelsFloatArray, ValueOf] | None:
    """Contribution of a document to a score at each topic and rank, (topics, ranks), and its value."""
    depth = depth_of(bound)
    ones = np.ones((sample.finished, 1))
    if bound.measure.name == "P":
        return ones / depth * np.ones(depth), worth_of(bound)
    if bound.measure.name in ("nDCG", "DCG"):
        cutoff = bound.params["cutoff"]
        ideal = ideal_dcg(sample.labels, cutoff if isinstance(cutoff, int) else None)
        return discounts(depth) / (ideal[:, None] if bound.measure.name == "nDCG" else ones), worth_of(bound)
    return None


def _larger(sample: JudgedSample, scores: CombinedScores) -> list[LabelsFloatArray]:
    """Inclusion probabilities of larger samples of the same documents, by their ranks in the runs."""
    now = sample.labels.probability
    shares = np.arange(sample.share + STEP, 1.0, STEP)
    return [np.maximum(now, inclusion(scores.weight, float(share))) for share in shares]


BoolArray = npt.NDArray[np.bool_]

MOST_OUTSIDE = 0.05
"""Maximum share of the weight of a run's top ranks outside the pool, where nothing was drawn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CombinedRow(RunName):
    """A ranked run: its combined score, its scores by the machine and by people only, and its rank in each.

    low and high are the ends of the 95 % interval of the combined score, None if it never varies.
    place holds its verdicts on the board shown, None on the machine's, which says nothing about people,
    and if the run is unranked.
    """

    rank: int | None
    score: float
    low: float | None
    high: float | None
    place: Place | None
    machine: float
    machine_rank: Annotated[int, Shown("Rank")]
    people: float
    people_rank: Annotated[int, Shown("Rank")]
    move: int
    """Number of ranks by which it is higher than on the machine's board; negative if lower."""
    outside: Annotated[float, Shown(shown=On.DATA)]


@dataclass(frozen=True, slots=True, kw_only=True)
class CombinedBoard:
    """Results for the runs by one measure on the topics done."""

    rows: tuple[CombinedRow, ...]
    top: int
    """Ranks of which all but 5% of the weight must be in the machine's pool for a run to be ranked."""
    may_be_best: int
    too_few: str
    """Why the topics are too few to rank the runs; empty if they are not, or without verdicts."""
    swapped: int
    """Pairs of runs in reverse order compared with the machine's board."""
    pairs: int
    teams: tuple[FavouredRuns, ...]
    """Without teams that have too few runs of other teams to compare with."""
    models: tuple[FavouredRuns, ...]
    """By family of declared language models; without families that nearly all runs declare."""
    believed: float | None
    """The share of the machine's scores that is used, if people judged complete topics; else None."""
    plan: MachinePlan | None

    @property
    def unranked(self) -> int:
        """Number of unranked runs."""
        return sum(row.rank is None for row in self.rows)


def combined_board(
    session: Session, sample: JudgedSample, column: MeasureColumn, rows: Sequence[Row], order: str
) -> CombinedBoard | None:
    """The board of runs by a combinable measure; None if fewer than two were scored.

    order is `combined`, `machine` or `people`: the ranking and the verdicts to show.
    """
    bound, source = parse(column.key), sample.everything
    machine = scores_of(session, source, column.key, column.version, [row.run_id for row in rows])
    scored = [row for row in rows if row.run_id in machine]
    if len(scored) < 2:
        return None
    scores = combined_scores(session, sample, bound, [(row.run_id, row.ranking_sha256) for row in scored])
    estimates = estimated(sample, scores, np.array([machine[row.run_id] for row in scored]))
    is_ranked = scores.outside <= MOST_OUTSIDE
    topics = sample.finished
    places, too_few = ({}, "") if order == "machine" else _places(estimates, order, scored, is_ranked, topics)
    lines = _rows(scored, estimates, scores.outside, is_ranked, places)
    chosen = np.flatnonzero(is_ranked)
    seen = FavourSeen(sample.labels, worth_of(bound), scores.placed)
    return CombinedBoard(
        rows=tuple(sorted(lines, key=lambda row: (_place_in(row, order), row.name))),
        top=top_of(bound),
        may_be_best=sum(row.place is not None and row.place.best_set for row in lines),
        too_few=too_few,
        swapped=_swapped(estimates.combined[chosen], estimates.machine[chosen]),
        pairs=len(chosen) * (len(chosen) - 1) // 2,
        teams=by_team(scored, seen),
        models=by_model(scored, seen, sample.machine),
        believed=estimates.believed,
        plan=_plan(sample, bound, estimates, scores, [row.name for row in lines], is_ranked),
    )


def _swapped(means: FloatArray, others: FloatArray) -> int:
    """Number of pairs of runs in opposite order by two sets of means."""
    orders, turned = np.sign(means[:, None] - means), np.sign(others[:, None] - others)
    return int(np.count_nonzero(orders * turned < 0)) // 2


def _plan(
    sample: JudgedSample,
    bound: BoundMeasure,
    estimates: EstimatedScores,
    scores: CombinedScores,
    names: Sequence[str],
    is_ranked: BoolArray,
) -> MachinePlan | None:
    means = np.where(is_ranked, estimates.combined, -np.inf)
    first, second = np.argsort(-means, kind="stable")[:2].tolist()
    if not np.isfinite(means[second]):
        return None
    of = (names[first], names[second])
    if estimates.whole is not None and estimates.believed is not None:
        return plan_of_topics(estimates.whole, estimates.believed, (first, second), of)
    return plan_of(sample, bound, scores, (first, second), of)


def _place_in(row: CombinedRow, order: str) -> float:
    ranks = {"combined": row.rank, "machine": row.machine_rank, "people": row.people_rank}
    place = ranks[order]
    return float("inf") if place is None else place


def _places(
    estimates: EstimatedScores, order: str, rows: Sequence[Row], is_ranked: BoolArray, topics: int
) -> tuple[dict[int, Place], str]:
    """Run id -> verdicts of the ranked runs on a board; and CombinedBoard.too_few."""
    chosen = np.flatnonzero(is_ranked)
    if len(chosen) < 2:
        return {}, ""
    table = estimates.compare(chosen, order)
    decided, too_few = verdicts(table, LEVEL), ""
    if decided.too_few:
        needed = topics_to_decide(table, decided, topics, widest_pair(table))
        too_few = too_few_topics(f"{len(chosen):,} runs", topics, needed)
    places = {
        rows[at].run_id: Place(
            beats=int(decided.beats[place]),
            beaten_by=int(decided.rank_low[place]) - 1,
            undecided=int(decided.undecided[place]),
            rank_low=int(decided.rank_low[place]),
            rank_high=int(decided.rank_high[place]),
            best_set=bool(decided.may_be_best[place]),
            named=int(decided.named[place]),
        )
        for place, at in enumerate(chosen.tolist())
    }
    return places, too_few


def _rows(
    rows: Sequence[Row],
    estimates: EstimatedScores,
    outside: FloatArray,
    is_ranked: BoolArray,
    places: dict[int, Place],
) -> list[CombinedRow]:
    ranks = _ranks(np.where(is_ranked, estimates.combined, -np.inf))
    among = _ranks(np.where(is_ranked, estimates.machine, -np.inf))
    machine_ranks, people_ranks = _ranks(estimates.machine), _ranks(estimates.people)
    return [
        CombinedRow(
            **row.named(),
            rank=ranks[at] if is_ranked[at] else None,
            score=float(estimates.combined[at]),
            low=float(estimates.combined[at] - estimates.half[at]) if varies(estimates.half[at]) else None,
            high=float(estimates.combined[at] + estimates.half[at]) if varies(estimates.half[at]) else None,
            place=places.get(row.run_id),
            machine=float(estimates.machine[at]),
            machine_rank=machine_ranks[at],
            people=float(estimates.people[at]),
            people_rank=people_ranks[at],
            move=among[at] - ranks[at] if is_ranked[at] else 0,
            outside=float(outside[at]),
        )
        for at, row in enumerate(rows)
    ]


def _ranks(means: FloatArray) -> list[int]:
    better: list[int] = (means[None, :] > means[:, None]).sum(axis=1).tolist()
    return [1 + count for count in better]


ORDERS = ("combined", "machine", "people")
"""The board that ranks the runs."""
LEAST_TOPICS, LEAST_TOPICS_OF_ONE_DOCUMENT = 2, 25
LEAST_DRAWN = 20
"""Minimum expected number of sampled documents per topic, for measures divided by an estimate."""
ONE_DOCUMENT, DIVIDED = frozenset({"RR", "ERR"}), frozenset({"nDCG", "AP"})


@dataclass(frozen=True, slots=True, kw_only=True)
class CombinedPage(TaskHead):
    """A task's combined board; refused are the reasons why it is missing."""

    sample: JudgedSample | None
    samples: tuple[int, ...]
    """Numbers of all samples visible to the reader, newest first."""
    column: MeasureColumn | None
    choices: tuple[MeasureColumn, ...]
    order: str
    refused: tuple[str, ...]
    board: CombinedBoard | None
    can_draw: bool
    """Whether the board uses a machine's judgments, so that a sample of them may be drawn."""

    @property
    def name(self) -> str:
        """Base name of the page's tables."""
        return f"{self.slug}-combined"


@dataclass(frozen=True, slots=True)
class CombinedChoice:
    """The requested measure, sample number and ranking."""

    measure: str | None = None
    number: int | None = None
    order: str = ORDERS[0]


def combined_page(session: Session, viewer: Viewer, slug: str, choice: CombinedChoice) -> CombinedPage:
    """The combined board; raises NotFound if none is visible to the viewer, UnknownMeasure.

    Organisers also see hidden ones, and the page without any sample.
    """
    task, access = policy.visible_task(session, viewer, slug)
    require_rankings(task)
    shown = shown_edition(session, task, access)
    pools = [
        pool for pool in combined.of_task(session, task) if access.organises or pool.shown_at is not None
    ]
    if not (access.organises or (access.details and pools)):
        raise NotFound(f"{task.name} has no combined board to show. {access.why}".strip())
    chosen = next((pool for pool in pools if choice.number in (None, pool.number)), None)
    if chosen is None and choice.number is not None:
        raise NotFound(f"{task.name} has no sample {choice.number} to show.", pool=choice.number)
    choices = _choices(shown)
    column = _column(choices, shown, choice.measure)
    sample = judged_sample(session, task, chosen) if chosen is not None else None
    rows = _ranked(session, viewer, task, access, shown)
    refused = _refused(sample, column, rows) if sample is not None else ()
    board = None
    if sample is not None and column is not None and not refused:
        board = combined_board(session, sample, column, rows, choice.order)
    return CombinedPage(
        of=task,
        access=access,
        basis=shown.basis,
        sample=sample,
        samples=tuple(pool.number for pool in pools),
        column=column,
        choices=choices,
        order=choice.order if choice.order in ORDERS else ORDERS[0],
        refused=refused,
        board=board,
        can_draw=shown.basis is not None and shown.basis.origin == "machine",
    )


def _choices(shown: ShownEdition) -> tuple[MeasureColumn, ...]:
    """The measures of the board that can be estimated from a sample."""
    keys = [measure["key"] for measure in shown.edition.measures] if shown.edition else []
    return tuple(column_of(key) for key in keys if can_be_combined(parse(key)))


def _column(
    choices: Sequence[MeasureColumn], shown: ShownEdition, measure: str | None
) -> MeasureColumn | None:
    by_key = {column.key: column for column in choices}
    if measure is not None and parse(measure).key not in by_key:
        raise UnknownMeasure(
            f"{parse(measure).key} cannot be estimated from a sample; choose {', '.join(by_key) or 'none'}."
        )
    primary = shown.edition.primary_measure if shown.edition else ""
    key = primary if measure is None else parse(measure).key
    return by_key.get(key) or next(iter(choices), None)


def _ranked(
    session: Session, viewer: Viewer, task: Task, access: TaskAccess, shown: ShownEdition
) -> tuple[Row, ...]:
    """The ranked runs of the board, in order."""
    edition = shown.edition
    if edition is None:
        return ()
    by = column_of(edition.primary_measure)
    rows = rank(read_rows(session, viewer, task, access, edition, (by,)), by)
    return tuple(row for row in rows if row.rank is not None)


def _refused(sample: JudgedSample, column: MeasureColumn | None, rows: Sequence[Row]) -> tuple[str, ...]:
    """Reasons against estimating people's verdicts."""
    if column is None:
        return (
            "None of the board’s measures can be estimated from a sample: P, nDCG, AP, RR, RBP and ERR can.",
        )
    bound, refused = parse(column.key), []
    name, topics = bound.measure.name, sample.finished
    least = combined.LEAST_TOPICS if sample.is_of_topics else LEAST_TOPICS
    if len(rows) < 2:
        refused.append("There are fewer than two ranked runs.")
    if topics < least:
        refused.append(f"{topics} of {sample.topics} topics are judged completely. A board needs {least}.")
    if name in ONE_DOCUMENT and topics < LEAST_TOPICS_OF_ONE_DOCUMENT:
        refused.append(
            f"{column.key} depends on one document per topic and needs {LEAST_TOPICS_OF_ONE_DOCUMENT} "
            f"topics judged completely; so far {topics} are."
        )
    if name in DIVIDED and not sample.is_of_topics and sample.drawn_by_topic < LEAST_DRAWN:
        refused.append(
            f"{column.key} divides by an estimate and needs {LEAST_DRAWN} sampled documents per topic, "
            f"and {sample.drawn_by_topic:.1f} are expected. Draw a larger share, or choose a measure like P."
        )
    if len(rows) * topics * depth_of(bound) > MOST_PLACES:
        refused.append(
            "There are too many runs and ranks to compute this page. Choose a measure with a cutoff."
        )
    return tuple(refused)


def runs_table(page: CombinedPage) -> Table[CombinedRow]:
    """The ranked runs combined, by each alone, and their moves."""
    digits = page.column.digits if page.column else None
    key = page.column.key if page.column else ""
    return Table(
        page.name,
        _caption(page, f"Runs ranked by {key}, combining people and machine"),
        columns_from(
            CombinedRow,
            "rank",
            Column("rank_low", lambda row: row.place and row.place.rank_low, shown=On.DATA),
            Column("rank_high", lambda row: row.place and row.place.rank_high, shown=On.DATA),
            "name run_id",
            Column("team", lambda row: row.team, "Team", shown=~On.PAGE),
            Column("score", lambda row: row.score, f"{key}, combined", digits=digits),
            _end("low", "From", digits),
            _end("high", "To", digits),
            Column("verdict", _verdict, "Wins · undecided · losses", words=_verdict, shown=On.PAGE),
            *(_of_place(name) for name in ("beats", "undecided", "beaten_by", "best_set")),
            Column("machine", lambda row: row.machine, "Machine only", digits=digits),
            "machine_rank move",
            Column("people", lambda row: row.people, "People only", digits=digits),
            "people_rank outside",
        ),
        page.board.rows if page.board else (),
    )


def teams_table(page: CombinedPage) -> Table[FavouredRuns]:
    """Favour by team."""
    name: Column[FavouredRuns] = Column("team", lambda row: row.name, "Team")
    return _tables_favoured(page, "teams", name, page.board.teams if page.board else ())


def models_table(page: CombinedPage) -> Table[FavouredRuns]:
    """Favour by declared family of language models, including the machine's own."""
    name: Column[FavouredRuns] = Column(
        "model",
        lambda row: row.name,
        "Model",
        words=lambda row: f"{row.name} (the judge’s own)" if row.is_own else row.name,
    )
    own: Column[FavouredRuns] = Column("is_own", lambda row: row.is_own, shown=On.DATA)
    return _tables_favoured(page, "models", name, page.board.models if page.board else (), own)


def _tables_favoured(
    page: CombinedPage,
    what: str,
    name: Column[FavouredRuns],
    rows: tuple[FavouredRuns, ...],
    *more: Column[FavouredRuns],
) -> Table[FavouredRuns]:
    digits = page.column.digits if page.column else None
    return Table(
        f"{page.name}-{what}",
        _caption(
            page, "Extra score that the machine gives runs, compared with others with comparable documents"
        ),
        [
            name,
            Column("runs", lambda row: row.runs, "Runs", digits=0),
            Column("favour", lambda row: row.favour.mean, "Bias", digits=digits),
            Column("low", lambda row: row.favour.low, "From", digits=digits),
            Column("high", lambda row: row.favour.high, "To", digits=digits),
            Column("p", lambda row: row.favour.adjusted, "p", digits=4),
            Column(
                "is_favoured",
                lambda row: row.favour.is_favoured,
                "Favoured",
                words=lambda row: "yes" if row.favour.is_favoured else "not found",
            ),
            Column("visible", lambda row: row.favour.visible, "Detectable from", digits=digits),
            *more,
        ],
        rows,
    )


def combined_facts(page: CombinedPage) -> dict[str, Any]:
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
        "plan": plan_facts(page.board.plan) if page.board and page.board.plan else None,
    }


COMBINED_FILES = Files(
    facts=combined_facts, tables={"runs": runs_table, "teams": teams_table, "models": models_table}
)


def _end(name: str, head: str, digits: int | None) -> Column[CombinedRow]:
    """An end of the interval, shown below the score on the page."""
    return Column(name, lambda row: getattr(row, name), head, digits=digits, shown=~On.PAGE)


def _of_place(name: str) -> Column[CombinedRow]:
    return Column(name, lambda row: row.place and getattr(row.place, name), shown=On.DATA)


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
