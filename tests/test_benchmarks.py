"""The benchmark's generators make what they say, and its table divides what belongs together."""

import gzip
import hashlib
import shutil
import subprocess
import sys
from collections import Counter
from itertools import groupby, pairwise
from pathlib import Path
from typing import NamedTuple

import pytest

from benchmarks import agreement, cold, compare, generate, load, measuring, pages, table, values, variants
from benchmarks.cold import Cost as Cold
from benchmarks.measuring import Cost
from benchmarks.table import Row
from benchmarks.tools import commands
from leaderboard.db.engine import Database
from tests import ROOT
from tests.make.sites import application_thread

TOPICS = 30
DEPTH = 200
RUNS = 6


class Line(NamedTuple):
    """One line of a run."""

    topic: str
    q0: str
    docno: str
    rank: str
    score: str
    tag: str


def lines_of(path: Path) -> list[Line]:
    """The lines of a run."""
    return [Line(*line.split()) for line in path.read_text("ascii").splitlines()]


def ties(lines: list[Line]) -> float:
    """The share of neighbours within a topic that have the same score."""
    neighbours = [one.score == other.score for one, other in pairwise(lines) if one.topic == other.topic]
    return sum(neighbours) / len(neighbours)


@pytest.fixture(scope="module")
def integer_qrels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two relevant documents and one that is not for each topic, as a .gz."""
    path = tmp_path_factory.mktemp("qrels") / "qrels.txt.gz"
    with gzip.open(path, "wt") as file:
        for topic in range(TOPICS):
            file.writelines(f"{topic} 0 {topic * 10 + place} {min(place, 1)}\n" for place in range(3))
    return path


@pytest.fixture(scope="module")
def word_qrels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Some dozens of judgments for each of three topics."""
    path = tmp_path_factory.mktemp("qrels") / "qrels.txt"
    path.write_text("".join(f"t{topic} 0 D{n} {n % 2}\n" for topic in range(3) for n in range(topic, 60)))
    return path


@pytest.fixture(scope="module")
def big(integer_qrels: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small `big`."""
    folder = tmp_path_factory.mktemp("big")
    generate.big(integer_qrels, folder, depth=DEPTH)
    return folder


@pytest.fixture(scope="module")
def many(word_qrels: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small `many`."""
    folder = tmp_path_factory.mktemp("many")
    generate.many(word_qrels, folder, runs=RUNS, depth=DEPTH)
    return folder


def test_big_ranks_every_topic_to_the_depth(big: Path) -> None:
    """Each topic has that many different documents, ranks from 1, and scores that never rise."""
    for _, group in groupby(lines_of(big / "run.txt"), key=lambda line: line.topic):
        lines = list(group)
        assert [int(line.rank) for line in lines] == list(range(1, DEPTH + 1))
        assert len({line.docno for line in lines}) == DEPTH
        assert all(0 <= int(line.docno) < generate.COLLECTION_SIZE for line in lines)
        scores = [float(line.score) for line in lines]
        assert scores == sorted(scores, reverse=True)
        assert scores[-1] > 0


def test_big_finds_most_relevant_documents_near_the_top(big: Path) -> None:
    """About 85 % of them are there, more of them in the first half of the ranks than in the second."""
    grades = generate.read_qrels(big / "qrels.txt")
    ranks = [
        int(line.rank) for line in lines_of(big / "run.txt") if grades[line.topic].get(line.docno, 0) > 0
    ]
    assert 0.7 < len(ranks) / (2 * TOPICS) < 0.98
    assert sum(rank <= DEPTH // 2 for rank in ranks) > len(ranks) * 0.7


def test_big_ties_two_in_a_hundred_neighbours(big: Path) -> None:
    """The share of ties is near the one that is said."""
    assert abs(ties(lines_of(big / "run.txt")) - generate.TIES) < 0.01


def test_big_is_the_same_compressed(big: Path) -> None:
    """The .gz holds the plain file."""
    assert gzip.decompress((big / "run.txt.gz").read_bytes()) == (big / "run.txt").read_bytes()


def test_big_is_the_same_each_time_and_another_by_seed(
    integer_qrels: Path, big: Path, tmp_path: Path
) -> None:
    """One seed makes the same bytes, the .gz included; another makes others."""
    generate.big(integer_qrels, tmp_path / "again", depth=DEPTH)
    generate.big(integer_qrels, tmp_path / "other", depth=DEPTH, seed=1)
    for name in ("run.txt", "run.txt.gz"):
        digests = [
            hashlib.sha256((folder / name).read_bytes()).digest()
            for folder in (big, tmp_path / "again", tmp_path / "other")
        ]
        assert digests[0] == digests[1] != digests[2]


def test_big_takes_the_first_topics_only(integer_qrels: Path, tmp_path: Path) -> None:
    """With a number of topics, its qrels have no others."""
    generate.big(integer_qrels, tmp_path, topics=4, depth=5)
    assert list(generate.read_qrels(tmp_path / "qrels.txt")) == ["0", "1", "2", "3"]
    assert len(lines_of(tmp_path / "run.txt")) == 4 * 5


def test_many_makes_three_kinds_of_scores(many: Path) -> None:
    """A third has six decimals and hardly a tie, a third two and many ties, a third the shortest text."""
    by_kind = [
        [lines_of(many / f"run-{place:03}.txt") for place in range(kind * 2, kind * 2 + 2)]
        for kind in range(3)
    ]
    for kind, decimals in ((0, 6), (1, 2)):
        for lines in by_kind[kind]:
            assert {len(line.score.partition(".")[2]) for line in lines} == {decimals}
    assert all(line.score == repr(float(line.score)) for lines in by_kind[2] for line in lines)
    assert max(len(line.score) for lines in by_kind[2] for line in lines) >= 17
    assert max(ties(lines) for lines in (*by_kind[0], *by_kind[2])) < 0.02


def test_many_ties_half_the_neighbours_at_full_depth(word_qrels: Path, tmp_path: Path) -> None:
    """Two decimals over 1,000 documents make 48 % ties."""
    generate.many(word_qrels, tmp_path, runs=3)
    assert abs(ties(lines_of(tmp_path / "run-001.txt")) - 0.48) < 0.05


def test_many_ranks_differ_by_run_and_favour_relevant_documents(many: Path) -> None:
    """Each run has its own tag and ranking, with relevant documents higher than those that are not."""
    grades = generate.read_qrels(many / "qrels.txt")
    runs = [lines_of(many / f"run-{place:03}.txt") for place in range(RUNS)]
    assert len({lines[0].tag for lines in runs}) == RUNS
    assert len({tuple(line.docno for line in lines) for lines in runs}) == RUNS
    for lines in runs:
        assert Counter(line.topic for line in lines) == dict.fromkeys(grades, DEPTH)
        assert len({(line.topic, line.docno) for line in lines}) == len(lines)
        ranks: dict[int, list[int]] = {0: [], 1: []}
        for line in lines:
            if line.docno in grades[line.topic]:
                ranks[grades[line.topic][line.docno]].append(int(line.rank))
        assert sum(ranks[1]) / len(ranks[1]) < sum(ranks[0]) / len(ranks[0])


@pytest.mark.parametrize("name", variants.VARIANTS)
def test_a_variant_holds_the_same_entries(big: Path, name: str) -> None:
    """Whatever the form, the fields of all lines are those of the run, and the bytes are not."""
    run, target = big / "run.txt", variants.variant_path(big / "run.txt", name)
    variants.VARIANTS[name](run, target, 1)
    assert sorted(lines_of(target)) == sorted(lines_of(run))
    assert target.read_bytes() != run.read_bytes()


def test_variants_have_the_form_of_their_names(big: Path) -> None:
    """Separators, line ends and the order of lines are as unusual as promised, and no more."""
    variants.write_all(big / "run.txt", 1)
    plain = lines_of(big / "run.txt")
    topics = [line.topic for line in plain[::DEPTH]]
    forms = {name: variants.variant_path(big / "run.txt", name) for name in variants.VARIANTS}
    blank = forms["blanks"].read_bytes().splitlines()
    assert b"\t" in blank[0]
    assert b"  " in blank[1]
    assert forms["crlf"].read_bytes().count(b"\r\n") == len(plain)
    unsorted = lines_of(forms["unsorted"])
    assert [line.topic for line in unsorted] == [line.topic for line in plain]
    assert [line.rank for line in unsorted[:DEPTH]] != [line.rank for line in plain[:DEPTH]]
    split = lines_of(forms["split"])
    assert [topic for topic, _ in groupby(line.topic for line in split)] == topics * 2
    interleaved = lines_of(forms["interleaved"])
    assert [line.topic for line in interleaved] == topics * DEPTH
    assert [line for line in interleaved if line.topic == topics[0]] == plain[:DEPTH]


def test_interleaving_takes_topics_of_any_length(tmp_path: Path) -> None:
    """Short topics end early; the last line may have no end."""
    (tmp_path / "run.txt").write_bytes(b"1 a\n1 b\n1 c\n2 d\n3 e\n3 f\n")
    variants.interleaved(tmp_path / "run.txt", tmp_path / "each.txt", 1)
    variants.split(tmp_path / "run.txt", tmp_path / "halves.txt", 1)
    assert (tmp_path / "each.txt").read_text().split("\n") == ["1 a", "2 d", "3 e", "1 b", "3 f", "1 c", ""]
    assert (tmp_path / "halves.txt").read_text().split("\n") == ["1 a", "3 e", "1 b", "1 c", "2 d", "3 f", ""]


def test_names_are_the_values_that_are_asked_for() -> None:
    """There are 26 of them, all different."""
    assert len(set(values.NAMES)) == len(values.NAMES) == values.COUNT


def test_agreement_counts_values_of_shared_names(tmp_path: Path) -> None:
    """A name that one lacks is left out, a topic that one lacks counts, runs are compared in order."""
    (tmp_path / "a").write_text(
        "runid\tall\tx\nmap   \t1\t0.5000\nmap\tall\t0.5000\nP_5\t1\t0.2\nmap\t1\t0.1\nmap\tall\t0.1\n"
    )
    (tmp_path / "b").write_text("map\t1\t0.5000\nmap\tall\t0.4000\nmap\t1\t0.1\nmap\tall\t0.1\nmap\t2\t0.3\n")
    assert agreement.differing(tmp_path / "a", tmp_path / "b") == (2, 5)
    assert agreement.differing(tmp_path / "a", tmp_path / "a") == (0, 5)


def test_measure_gives_memory_and_output(tmp_path: Path) -> None:
    """What a process prints is in the file; its memory counts all it held.

    Measured from a small process: the peak of this one would hide what the other holds.
    """
    held = "x = b'x' * 80_000_000; import os; print(os.environ['WORD'])"
    output = tmp_path / "out.txt"
    call = f"measure([sys.executable, '-c', {held!r}], Path({str(output)!r}), {{'WORD': 'here'}}, Path('.'))"
    imports = "import sys; from pathlib import Path; from benchmarks.measuring import measure"
    said = subprocess.run(
        [sys.executable, "-c", f"{imports}; print({call}.megabytes)"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert 76 < float(said.stdout) < 120
    assert output.read_text() == "here\n"


def test_measure_says_why_a_command_failed(tmp_path: Path) -> None:
    """The exit code and the last line of the errors."""
    command = [sys.executable, "-c", "import sys; sys.exit('first\\nno such run')"]
    with pytest.raises(measuring.Failed, match="exit code 1: no such run"):
        measuring.measure(command, tmp_path / "out.txt", {}, tmp_path)


def test_shares_are_taken_within_a_repeat() -> None:
    """The median of the ratios of each repeat, not the ratio of the medians."""
    base = Row("trec_eval 9.0.7", {0: Cost(10, 600), 1: Cost(40, 600), 2: Cost(20, 600)})
    ours = Row(commands.OURS, {0: Cost(1, 40), 1: Cost(8, 42), 2: Cost(1, 41)}, agreement="0 of 7")
    cells = table.workload("big", [base, ours]).splitlines()[5].strip("| ").split(" | ")
    assert cells == ["leaderboard", "1.00", "1/10.0", "1/20.0 to 1/5.0", "1/12.0", "41", "64", "0 of 7"]


def test_a_tool_that_failed_has_a_line_and_no_share() -> None:
    """Without trec_eval there is nothing to divide by, and a failure is told below the table."""
    text = table.workload("big", [Row("ranx 1", {0: Cost(2, 3)}), Row("slow 1", failure="exit code 1: no")])
    assert "| ranx 1 | 2.00 |  |  |  | 3 |  |  |" in text
    assert "slow 1 failed: exit code 1: no" in text


def test_missing_tools_say_so() -> None:
    """A program that is not there, or a package that an interpreter lacks, is no crash."""
    with pytest.raises(commands.Missing, match="no program"):
        commands.trec_eval("/nowhere/trec_eval")
    with pytest.raises(commands.Missing, match="not installed"):
        commands.package("no_such_package", sys.executable)


def test_trec_eval_gets_one_call_a_run_and_plain_files(tmp_path: Path) -> None:
    """A .gz is decompressed first, and the decompressing counts."""
    program = tmp_path / "trec_eval"
    program.write_text("#!/bin/sh\necho 'trec_eval version 9.0.7' >&2\n")
    program.chmod(0o755)
    tool = commands.trec_eval(str(program))
    assert tool.version == "9.0.7"
    runs = (tmp_path / "a.txt", tmp_path / "b.txt.gz")
    shell, flag, script = tool.command(commands.Workload("w", tmp_path / "q", runs), tmp_path / "between")
    assert (shell, flag) == ("sh", "-c")
    assert script.count(f"{program} -q -c -m map") == 2
    assert f"gzip -dc {tmp_path}/b.txt.gz > {tmp_path}/between && {program}" in script


@pytest.mark.trial
def test_compare_prints_a_table_of_what_is_there(
    big: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Tools are timed in turn and their values compared with those of trec_eval, here pytrec_eval's."""
    pytest.importorskip("pytrec_eval")
    stand_in = tmp_path / "trec_eval"
    stand_in.write_text(
        "#!/bin/sh\n"
        '[ "$1" = -v ] && { echo "trec_eval version 9.0" >&2; exit 0; }\n'
        "while [ $# -gt 2 ]; do shift; done\n"
        f'exec {sys.executable} -m benchmarks.tools.with_pytrec_eval "$@"\n'
    )
    stand_in.chmod(0o755)
    data = tmp_path / "data"
    data.mkdir()
    (data / "big").symlink_to(big)
    only = [part for name in ("trec_eval", "leaderboard", "leaderboard-numpy") for part in ("--only", name)]
    compare.main([str(data), "--big", "--gz", "--repeats", "1", "--trec-eval", str(stand_in), *only])
    printed = capsys.readouterr().out
    tables = printed.split("### ")[1:]
    assert [each.splitlines()[0] for each in tables] == ["big", "big, .gz"]
    for each in tables:
        rows = [line.strip("| ").split(" | ") for line in each.splitlines() if line.startswith("| l")]
        assert [row[0] for row in rows] == ["leaderboard", "leaderboard-numpy"]
        assert {row[-1] for row in rows} == {f"0 of {values.COUNT * (TOPICS + 1)}"}
    assert "- dialect of leaderboard: 9\n" in printed


def test_compare_asks_for_files_that_are_missing(tmp_path: Path) -> None:
    """An empty folder is told how to be filled."""
    for selection in compare.SELECTIONS:
        with pytest.raises(SystemExit, match=r"benchmarks\.generate"):
            compare.workloads(tmp_path, [selection])


@pytest.mark.trial
@pytest.mark.parametrize("by_wrk", [False, True])
def test_load_counts_answers_and_ends_at_a_failure(tmp_path: Path, database: Database, by_wrk: bool) -> None:
    """By either client, of who has the page already too; what is no page is no answer."""
    if by_wrk and shutil.which("wrk") is None:
        pytest.skip("no wrk on this machine (Debian: apt-get install wrk)")
    with application_thread(database, tmp_path) as address:
        page = f"{address}/measures"
        for known in ("", load.tag(page)):
            found = load.load(page, 0.5, by_wrk=by_wrk, known=known)
            assert found.rate > 0
            assert 0 < found.median_ms <= found.slow_ms
        whole, sent = load.size(page)
        assert whole > 2 * sent > 0
        with pytest.raises(SystemExit, match="Non-2xx" if by_wrk else "/nothing answered 404"):
            load.load(f"{address}/nothing", 0.5, by_wrk=by_wrk)


def test_load_asks_for_each_page_once(tmp_path: Path, database: Database) -> None:
    """However many visitors share the addresses, none is asked for twice."""
    with application_thread(database, tmp_path) as address:
        names = ("AP", "RR", "P", "nDCG")
        found = load.first_views([f"{address}/measures/{name}" for name in names])
    assert found.rate > 0
    assert found.median_ms <= found.slow_ms


@pytest.mark.trial
def test_pages_are_timed_on_a_site_that_is_filled_as_any(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every line has its page, times, size and statements; a page that fails stops the benchmark."""
    small = pages.Site(3, 2, 20, 40, 30, texts=True)
    suite = pages.Site(2, 2, 10, 20, 10, members=2)
    monkeypatch.setattr(pages, "SITES", {"texts": small, "suite": suite})
    monkeypatch.setattr(pages, "POOLED", "texts")
    pages.main(["--repeats", "1"])
    rows = [line.split(" | ") for line in capsys.readouterr().out.splitlines() if line.startswith("| ")]
    named = [title for site, title, *_ in pages.PAGES if site in ("texts", "suite")]
    assert [row[0].removeprefix("| ") for row in (*rows[1:4], *rows[7:])] == named
    assert all(len(row) == 9 and float(row[1]) > 0 for row in rows[1:])
    assert len(rows) == 1 + 3 + 3 + 3
    monkeypatch.setattr(pages, "PAGES", (("texts", "nothing", "/nothing", 1.0),))
    with pytest.raises(SystemExit, match="/nothing answered 404"):
        pages.main(["--repeats", "1"])


@pytest.mark.trial
def test_pages_are_measured_that_nobody_asked_for(tmp_path: Path) -> None:
    """By the command itself, as it copies its process: a row for each page, with times and statements."""
    options = ["--site", "small", "--only", "topic", "--repeats", "1", "--keep", str(tmp_path)]
    command = [sys.executable, "-m", "benchmarks.cold", *options]
    made = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    rows = [line.strip("| ").split(" | ") for line in made.stdout.splitlines() if line.startswith("| ")]
    wanted = [title for title, _ in cold.KINDS if "topic" in title]
    assert [row[0] for row in rows[1:]] == wanted
    assert all(float(row[2]) > 0 and float(row[8]) > 0 for row in rows[1:])


def test_a_cold_page_over_a_target_is_marked() -> None:
    """By processor time, of whichever making, and by what is sent; a page of a run may be larger."""
    quick, slow = Cold(900, 12), Cold(900, 61)
    costs = cold.Costs(quick, [quick], [slow], packed=41 * 1024, statements=6, statements_first=8)
    assert cold.line("board", "/tasks/t", costs).endswith("| 41 | member, KB |")
    assert cold.line("run", "/runs/1", costs).endswith("| 41 | member |")
