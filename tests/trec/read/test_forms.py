"""Every form of runs and judgments that people have: read as it is, or named with one step that leads on."""

import time
from pathlib import Path

import pytest

from leaderboard.errors import Invalid
from leaderboard.trec.qrels.qrels import read_qrels
from leaderboard.trec.read.forms import Head, asked
from leaderboard.trec.read.other_forms import Sent, problem_of
from leaderboard.trec.runs.check import Rules, read_and_check
from leaderboard.trec.runs.runs import read_run

ONE = {"1": {b"a": 1, b"b": 0}, "2": {b"a": 2}}

QRELS = {
    "TREC": ("1 0 a 1\n1 0 b 0\n2 0 a 2\n", ""),
    "three columns": ("1 a 1\n1 b 0\n2 a 2\n", ""),
    "BEIR": ("query-id\tcorpus-id\tscore\n1\ta\t1\n1\tb\t0\n2\ta\t2\n", ""),
    "heading": ("qid\tcid\tscore\n1\ta\t1\n1\tb\t0\n2\ta\t2\n", "The first line is a heading"),
    "heading, blanks": ("query-id corpus-id score\n1 a 1\n1 b 0\n2 a 2\n", "The first line is a heading"),
    "heading in another order": ("rel;doc_id;topic\n1;a;1\n0;b;1\n2;a;2\n", "read as grade docno topic"),
    "CSV": ("query_id,iter,doc_id,rel\n1,0,a,1\n1,0,b,0\n2,0,a,2\n", "separated by commas"),
    "CSV without heading": ("1,0,a,1\n1,0,b,0\n2,0,a,2\n", "separated by commas"),
    "grades with a point": ("1 0 a 1.0\n1 0 b 0.0\n2 0 a 2.0\n", "3 grades are written with a point"),
    "words": (
        "1 0 a relevant\n1 0 b not_relevant\n2 0 a highly_relevant\n",
        "Grade words were read as relevant=1, not_relevant=0, highly_relevant=2.",
    ),
    "LETOR": (
        "1 qid:1 1:0.3 #docid = a inc = 1\n0 qid:1 1:0.2 #docid = b\n2 qid:2 1:1 #docid = a\n",
        "LETOR or RankLib",
    ),
    "RankLib": ("1\tqid:1\t# a\tone\n0\tqid:1\t# b\tone\n2\tqid:2\t# a\n", "LETOR or RankLib"),
    "dictionary": ('{"1": {"a": 1, "b": 0}, "2": {"a": 2}}', "JSON dictionary"),
    "indented dictionary": ('{\n "1": {\n  "a": 1,\n  "b": 0.0},\n "2": {"a": 2}}\n', "JSON dictionary"),
    "JSON lines": (
        '{"query-id": 1, "corpus-id": "a", "score": 1}\n{"query-id": 1, "corpus-id": "b", "score": 0}\n'
        '{"query-id": 2, "corpus-id": "a", "score": 2}\n',
        "query-id: topic",
    ),
    "prels": ("1 a 1 1 0.25\n1 b 0 0 1\n2 a 2 2 .5\n", "read as topic docno grade - probability"),
    "probability": ("1 0 a 1 0.5\n1 0 b 0 1.0\n2 0 a 2 0.25\n", "infAP"),
    "stratum": ("1 0 a 1 top\n1 0 b 0 rest\n2 0 a 2 top\n", "Strata and inclusion probabilities"),
    "both": ("1 0 a 1 top 0.5\n1 0 b 0 rest 1.0\n2 0 a 2 - 0.1\n", "Strata and inclusion probabilities"),
}
"""Form -> a file of ONE, and a part of what is said of it; '' where nothing is."""


@pytest.mark.parametrize("form", QRELS)
def test_judgments_are_read_in_every_form(form: str, tmp_path: Path) -> None:
    """The same judgments whatever the form, and what was made of the file is said."""
    text, said = QRELS[form]
    (tmp_path / "qrels").write_text(text)
    qrels = read_qrels(tmp_path / "qrels")
    assert qrels.judgments == ONE
    notes = " ".join(map(str, qrels.notes))
    assert said in notes if said else not notes


RUNS = {
    "TREC": "1 Q0 a 1 2.0 t\n1 Q0 b 2 1.0 t\n2 Q0 a 1 9 t\n",
    "MS MARCO": "1 a 1\n1 b 2\n2 a 1\n",
    "topic docno score": "1 a 2.0\n1 b 1.0\n2 a 1.5\n",
    "no Q0, no tag": "1\ta\t1\t13.2\n1\tb\t2\t12.1\n2\ta\t1\t3\n",
    "no tag": "1 Q0 a 1 2.0\n1 Q0 b 2 1.0\n2 Q0 a 1 9\n",
    "no Q0": "1 a 1 2.0 t\n1 b 2 1.0 t\n2 a 1 9 t\n",
    "cut to four columns": "1 Q0 a 1\n1 Q0 b 2\n2 Q0 a 1\n",
    "heading": "topic_id\tdoc\trank\n1\ta\t1\n1\tb\t2\n2\ta\t1\n",
    "CSV": "qid,docid,score\n1,a,2.5\n1,b,1\n2,a,1\n",
    "no-break spaces": "".join(
        f"{topic}\u00a0Q0\u00a0{docno}\u00a01\u00a0{score}\u00a0t\n"
        for topic, docno, score in ((1, "a", 2), (1, "b", 1), (2, "a", 1))
    ),
    "dictionary": '{"1": {"a": 3.0, "b": 2.0}, "2": {"a": 4}}',
    "lists": '{"1": ["a", "b"], "2": ["a"]}',
}


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("form", RUNS)
def test_runs_are_read_in_every_form(form: str, strict: bool, tmp_path: Path) -> None:
    """The same order of documents whatever the form, at the upload as by trec_eval's rules."""
    (tmp_path / "run").write_text(RUNS[form])
    rankings = read_run(tmp_path / "run", strict=strict).rankings
    order = {
        topic: [docno for _, docno in sorted(zip(-one.scores, one.docnos.tolist(), strict=True))]
        for topic, one in rankings.items()
    }
    assert order == {"1": [b"a", b"b"], "2": [b"a"]}


OTHERS = {
    "HTML": ("<!DOCTYPE html>\n<html><title>Not found</title></html>\n", "a web page (HTML)"),
    "LFS": ("version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n", "a Git LFS pointer"),
    "XML": ('<?xml version="1.0"?>\n<data><x/></data>\n', "an XML file"),
    "TREC topics": ("<top>\n<num> 1\n<title> one\n</top>\n", "a topics file"),
    "XML topics": ('<?xml version="1.0"?>\n<topics><topic number="1"/></topics>\n', "a topics file"),
    "topics": ("1\tone two\n2\tthree\n", "a topics file"),
    "JSON topics": ('{"qid": "1", "query": "one"}\n', "a topics file"),
    "answers": ('{"metadata": {"topic_id": "1"}, "responses": [{"text": "x"}]}\n', "a file of answers"),
    "turns": ('[{"number": 1, "turns": [{"number": 1, "utterance": "x"}]}]', "a file of conversations"),
    "MTEB": ('{"dataset_revision": "1", "task_name": "x", "scores": {}}', "a file of MTEB results"),
    "YAML": ("---\ntag: bm25\nactor:\n  team: one\n", "a YAML file"),
    "ir_metadata": ("# ir_metadata.start\n# tag: x\n# ir_metadata.end\n", "an ir_metadata header"),
    "Parquet": ("PAR1\0\0\0\0", "a Parquet table"),
    "PDF": ("%PDF-1.4\n1 0 obj\n", "a PDF document"),
    "pairs": ("1\ta\n2\tb\n", "a list of two columns"),
    "JSON": ('{"a": 1}', "JSON of an unknown shape"),
}


@pytest.mark.parametrize("kind", ["run", "qrels"])
@pytest.mark.parametrize("form", OTHERS)
def test_another_kind_of_file_is_named(form: str, kind: str, tmp_path: Path) -> None:
    """One problem, which names the form, and one remedy."""
    text, name = OTHERS[form]
    (tmp_path / "file").write_text(text)
    with pytest.raises(Invalid) as caught:
        read_run(tmp_path / "file") if kind == "run" else read_qrels(tmp_path / "file")
    assert len(caught.value.problems) == 1
    problem = caught.value.problems[0]
    assert problem.rule.startswith(f"This is {name}")
    assert problem.rule.endswith(f", not {'a run' if kind == 'run' else 'judgments'}.")
    assert problem.remedy
    assert "{" not in problem.remedy or "{line}" not in problem.remedy


@pytest.mark.parametrize("form", ["CSV", "LETOR", "words", "heading", "TREC"])
def test_comments_in_any_form_are_counted(form: str, tmp_path: Path) -> None:
    """The lines that are passed over are said with their number, whatever form the others have."""
    text, _ = QRELS[form]
    first, rest = text.split("\n", 1)
    (tmp_path / "qrels").write_text(f"{first}\n# one\n{rest}# two\n")
    read = read_qrels(tmp_path / "qrels")
    assert read.judgments == ONE
    said = [str(note) for note in read.notes if "begin with #" in note.rule]
    assert len(said) == 1
    assert said[0].startswith("line 2: '# one': 2 lines that begin with # were skipped as comments.")


def test_ids_that_begin_with_a_hash_count_in_dialect_9_in_any_form(tmp_path: Path) -> None:
    """A table that is read otherwise keeps them too."""
    (tmp_path / "qrels").write_text("#1 0 a good\nb 0 a bad\n# good\n")
    read = read_qrels(tmp_path / "qrels", asked=asked(["good=1", "bad=0"], dialect=9))
    assert read.judgments == {"#1": {b"a": 1}, "b": {b"a": 0}}


@pytest.mark.parametrize("kind", ["run", "qrels"])
def test_json_that_is_broken_is_said_with_its_line(kind: str, tmp_path: Path) -> None:
    """Not called a form that nobody knows."""
    (tmp_path / "file").write_text('{\n "1": {"a": 1,\n  "b" 2}\n}\n')
    with pytest.raises(Invalid, match=r"line 3: .*The line is not valid JSON: Expecting ':' delimiter\."):
        read_run(tmp_path / "file") if kind == "run" else read_qrels(tmp_path / "file")


def test_a_run_and_judgments_are_told_apart(tmp_path: Path) -> None:
    """Q0 and ranks that count up are a run's; a Q0 before grades does not make judgments a run."""
    (tmp_path / "qrels").write_text("1 Q0 a 1\n1 Q0 b 0\n2 Q0 a 1\n")
    assert read_qrels(tmp_path / "qrels").judgments == {"1": {b"a": 1, b"b": 0}, "2": {b"a": 1}}
    (tmp_path / "run").write_text("".join(f"1 Q0 d{rank} {rank}\n" for rank in range(1, 8)))
    with pytest.raises(Invalid, match=r"This is a run, not judgments\. Submit it as a run"):
        read_qrels(tmp_path / "run")
    (tmp_path / "plain").write_text("1 0 a 1\n1 0 b 0\n")
    with pytest.raises(Invalid, match=r"This is a qrels file, not a run\. Submit it as judgments\."):
        read_run(tmp_path / "plain")


def test_a_mapping_says_how_a_file_is_read(tmp_path: Path) -> None:
    """Words get other numbers, columns another meaning, and pairs one grade."""
    path = tmp_path / "qrels"
    path.write_text("1 0 a yes\n1 0 b maybe\n")
    with pytest.raises(Invalid, match="--map yes=NUMBER --map maybe=NUMBER"):
        read_qrels(path)
    assert read_qrels(path, asked=asked(["yes=2,maybe=1"])).judgments == {"1": {b"a": 2, b"b": 1}}
    path.write_text("1 0 a 3 1\n1 0 b 2 -1\n")
    assert read_qrels(path).judgments == {"1": {b"a": 1, b"b": -1}}
    other = asked(["columns=topic,iteration,docno,grade,-"])
    path.write_text("1 0 a 3 1\n1 0 b 2 0\n")
    assert read_qrels(path, asked=other).judgments == {"1": {b"a": 3, b"b": 2}}
    with pytest.raises(Invalid, match=r"Name the columns: map columns="):
        read_qrels(path)
    path.write_text("1 a\n2 b\n")
    assert read_qrels(path, asked=asked(["grade=1"])).judgments == {"1": {b"a": 1}, "2": {b"b": 1}}
    with pytest.raises(Invalid, match="This maps no grades, columns or topics"):
        asked(["columns=topic,colour"])


def test_ids_that_begin_with_a_hash_count_in_dialect_9(tmp_path: Path) -> None:
    """trec_eval 9 has no comments; dialect 10 skips them, and says how many lines that were."""
    qrels, run = tmp_path / "qrels", tmp_path / "run"
    qrels.write_text("#a 0 d1 1\n#b 0 d2 1\nc 0 d3 1\n# a comment\n")
    run.write_text("#a Q0 d1 1 3 x\n#b Q0 zz 1 3 x\nc Q0 zz 1 3 x\n# a comment\n")
    assert list(read_qrels(qrels, asked=asked([], dialect=9)).judgments) == ["#a", "#b", "c"]
    ten = read_qrels(qrels)
    assert list(ten.judgments) == ["c"]
    assert str(ten.notes[0]).startswith(
        "line 1: '#a 0 d1 1': 3 lines that begin with # were skipped as comments."
    )
    nine, report = read_and_check(run, Rules(dialect=9))
    assert nine is not None
    assert list(nine.consumer.depths) == ["#a", "#b", "c"]
    assert [str(warning) for warning in report.warnings] == [
        "line 4: '# a comment': 1 line that begins with # was skipped as comments. If these are entries, use "
        "dialect 9, where such ids count as trec_eval 9 counts them."
    ]
    _, report = read_and_check(run, Rules())
    assert report.warnings[0].line == 1
    assert report.warnings[0].rule == "3 lines that begin with # were skipped as comments."


def test_lines_keep_their_numbers(tmp_path: Path) -> None:
    """What is wrong with a line of another form is said with the line's own number."""
    path = tmp_path / "qrels"
    path.write_text("qid\tdoc\trel\n\n1\ta\t1\n1\tb\t7.5\n")
    with pytest.raises(Invalid, match=r"line 4: grade '7\.5': A grade is a whole number"):
        read_qrels(path)
    path.write_text('{"1": {"a": 1.5}}')
    with pytest.raises(Invalid) as caught:
        read_qrels(path)
    assert [(one.line, one.value) for one in caught.value.problems] == [(None, "1.5")]


def test_one_cause_gives_one_message(tmp_path: Path) -> None:
    """A run of other topics gets no warning that follows from it; what else is missing is still said."""
    run = tmp_path / "run"
    run.write_text("MB001 Q0 a 1 2 t\nMB002 Q0 a 1 2 t\n")
    _, report = read_and_check(run, Rules(topics=("1", "2", "3")))
    assert [problem.rule for problem in report.problems] == [
        "All 2 topic ids have the prefix MB00 too many: MB001 is 1."
    ]
    assert report.warnings == ()
    run.write_text("1 Q0 a 1 2 t\n02 Q0 a 1 2 t\n")
    _, report = read_and_check(run, Rules(topics=("1", "2", "3")))
    assert [problem.value for problem in report.problems] == ["02"]
    assert [warning.rule for warning in report.warnings] == ["The run has no documents for 1 topic (3)."]


def test_ids_that_differ_by_a_suffix_are_mapped(tmp_path: Path) -> None:
    """The suffix is named, and the fix writes the ids of the other file."""
    run = tmp_path / "run"
    run.write_text("q1 Q0 a 1 2 x\nq2 Q0 b 1 2 x\n")
    _, report = read_and_check(run, Rules(judged=("q1.1", "q2.1")))
    assert [(problem.rule, problem.fix) for problem in report.problems] == [
        ("All 2 topic ids lack the suffix .1: q1 is q1.1.", "topics")
    ]


READ_AS_QRELS = {
    "comma.qrels.csv": {"1": 1, "2": 1},
    "dict.qrels.json": {"1": 2, "2": 2},
    "float.qrels": {"1": 2, "2": 1},
    "hash-ids.qrels": {"c": 1},
    "header-blanks.qrels": {"1": 1, "2": 1},
    "header.qrels.tsv": {"1": 1, "2": 1},
    "letor.qrels": {"1": 2},
    "ltr.qrels": {"1": 2},
    "prels.qrels": {"1": 2},
    "prob5.qrels": {"1": 2, "2": 1},
    "slash.qrels": {"set_A/Problem_1": 1, "set_A/Problem_2.json": 1},
    "words.qrels": {"1": 2},
}
"""File -> how many judgments each topic has."""


@pytest.mark.parametrize("name", READ_AS_QRELS)
def test_public_forms_of_judgments_are_read(name: str, shared_data: Path) -> None:
    """The files that 1.0.0 refused or read in part."""
    judgments = read_qrels(shared_data / "odd-inputs" / name).judgments
    assert {topic: len(grades) for topic, grades in judgments.items()} == READ_AS_QRELS[name]


TRICKY = {
    "comments": b"<!--a-->" * 8000 + b"<",
    "lines": b"a:" + b"\n" * 60_000,
    "blanks": b'{"1": {"a": 1' + b" " * 60_000 + b"x",
    "pairs": b'{"1": {' + b'"a": 1, ' * 8000 + b"x",
}


@pytest.mark.parametrize("sent", ["run", "qrels", "topics"])
@pytest.mark.parametrize("name", TRICKY)
def test_a_form_is_seen_quickly_whatever_the_bytes(name: str, sent: Sent) -> None:
    """No pattern tries the same bytes again and again."""
    start = time.process_time()
    problem_of(Head.of(TRICKY[name]), sent)
    assert time.process_time() - start < 1
