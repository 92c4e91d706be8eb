"""Make the two qrels revisions of the demo task, and ABOUT.json, from the judges' grades.

demo/judgments/first.tsv and second.tsv hold the grades as given: topic, document, grade. The first judge's
grades become the qrels; the second judge's serve only to measure agreement. With --import, both files are
rewritten from a folder of grades-NAME/TOPIC.tsv files, grades-second being the second judge.
"""

import argparse
import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from demo.make_pool import DEPTH, GRADES, POOL, UNPOOLED, Pool, read_pool
from demo.texts import FOLDER

JUDGMENTS = Path(__file__).parent / "judgments"
ORIGIN = "machine (a language-model assistant)"
Grades = dict[tuple[str, str], int]


def grade(text: str, where: str) -> int:
    """The grade a judge wrote, or an exit that says where it is wrong."""
    if text.strip() not in {str(known) for known in GRADES}:
        raise SystemExit(f"{where}: the grade {text!r} is not one of {', '.join(map(str, GRADES))}.")
    return int(text)


def sheets(folders: Iterable[Path]) -> Grades:
    """The grades in folders of TOPIC.tsv files; one document graded twice in a topic is refused."""
    grades: Grades = {}
    for path in sorted(path for folder in folders for path in folder.glob("*.tsv")):
        for number, line in enumerate(path.read_text("utf-8").splitlines(), start=1):
            if not line.strip():
                continue
            where = f"{path}, line {number}"
            docno, tab, given = line.partition("\t")
            key = (path.stem, docno.strip())
            if not tab or key in grades:
                raise SystemExit(f"{where}: expected a document not graded before, a tab and a grade.")
            grades[key] = grade(given, where)
    return grades


def read(path: Path) -> Grades:
    """The grades of one judge as write keeps them."""
    rows = (line.split("\t") for line in path.read_text("ascii").splitlines())
    return {(topic, docno): grade(given, str(path)) for topic, docno, given in rows}


def write(grades: Grades, path: Path) -> None:
    """Keep the grades of one judge, in byte order of topic and document."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = (f"{topic}\t{docno}\t{given}\n" for (topic, docno), given in sorted(grades.items()))
    path.write_text("".join(lines), encoding="ascii")


def check(grades: Grades, pooled: Pool, topics: Iterable[str], judge: str) -> None:
    """Exit unless exactly the pooled documents of these topics have a grade."""
    pool = {(topic, docno) for topic in topics for docno in pooled.get(topic, {})}
    problems = [f"{topic} {docno} has no grade" for topic, docno in sorted(pool - grades.keys())]
    problems += [f"{topic} {docno} is not in the pool" for topic, docno in sorted(grades.keys() - pool)]
    if problems:
        shown = "\n".join(problems[:20])
        raise SystemExit(f"{len(problems)} problems in the {judge} judge's grades:\n{shown}")


def kappa(pairs: list[tuple[int, int]], distance: Callable[[int, int], float]) -> float:
    """Cohen's kappa with a weight of disagreement (Cohen 1960, 1968).

    >>> kappa([(0, 0), (0, 0), (1, 1), (1, 0)], lambda a, b: float(a != b))
    0.5
    """
    first, second = Counter(a for a, _ in pairs), Counter(b for _, b in pairs)
    observed = sum(distance(a, b) for a, b in pairs) / len(pairs)
    crossed = sum(first[a] * second[b] * distance(a, b) for a in first for b in second)
    return 1.0 if crossed == 0 else 1 - observed / (crossed / len(pairs) ** 2)


def agreement(first: Grades, second: Grades) -> dict[str, Any] | None:
    """How far the two judges agree on the documents both have graded; None where there are none."""
    if not second:
        return None
    pairs = [(first[key], given) for key, given in sorted(second.items())]
    relevant = [(int(a >= 2), int(b >= 2)) for a, b in pairs]
    return {
        "topics": sorted({topic for topic, _ in second}),
        "judgments": len(pairs),
        "same_grade": round(sum(a == b for a, b in pairs) / len(pairs), 4),
        "kappa": round(kappa(pairs, lambda a, b: float(a != b)), 4),
        "kappa_linear": round(kappa(pairs, lambda a, b: float(abs(a - b))), 4),
        "kappa_relevant": round(kappa(relevant, lambda a, b: float(a != b)), 4),
    }


def write_qrels(grades: Grades, pooled: Pool, depth: int, folder: Path) -> dict[str, Any]:
    """Write the judgments of documents pooled down to a depth, and return their counts."""
    kept = {
        (topic, docno): given for (topic, docno), given in grades.items() if pooled[topic][docno] <= depth
    }
    name = f"qrels-depth{depth}.txt"
    lines = (f"{topic} 0 {docno} {given}\n" for (topic, docno), given in sorted(kept.items()))
    (folder / name).write_text("".join(lines), encoding="ascii")
    counts = Counter(kept.values())
    return {"file": name, "judgments": len(kept), "grades": {str(g): counts[g] for g in GRADES}}


def about(first: Grades, second: Grades, revisions: list[dict[str, Any]], folder: Path) -> Mapping[str, Any]:
    """What ABOUT.json says of the task: collection, judgments, agreement."""
    return {
        "collection": json.loads((folder / "COLLECTION.json").read_text("utf-8")),
        "topics": len({topic for topic, _ in first}),
        "origin": ORIGIN,
        "grades": {str(value): name for value, name in GRADES.items()},
        "pool_depth": DEPTH,
        "unpooled_runs": sorted(UNPOOLED),
        "revisions": revisions,
        "agreement": agreement(first, second),
    }


def assemble(judgments: Path, pooled: Pool, folder: Path) -> Mapping[str, Any]:
    """Check both judges' grades, write the qrels and ABOUT.json, and return what it says."""
    first, second = read(judgments / "first.tsv"), read(judgments / "second.tsv")
    check(first, pooled, pooled, "first")
    check(second, pooled, {topic for topic, _ in second}, "second")
    revisions = [write_qrels(first, pooled, depth, folder) for depth in (DEPTH // 2, DEPTH)]
    facts = about(first, second, revisions, folder)
    (folder / "ABOUT.json").write_text(json.dumps(facts, indent=2) + "\n", encoding="utf-8")
    return facts


def main() -> None:
    """Import grades where asked to, then write qrels and ABOUT.json."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--import", dest="grades", type=Path, help="folder with grades-NAME folders")
    parser.add_argument("--judgments", type=Path, default=JUDGMENTS)
    parser.add_argument("--pool", type=Path, default=POOL)
    parser.add_argument("--out", type=Path, default=FOLDER)
    arguments = parser.parse_args()
    if arguments.grades is not None:
        second = arguments.grades / "grades-second"
        firsts = [folder for folder in arguments.grades.glob("grades-*") if folder != second]
        write(sheets(firsts), arguments.judgments / "first.tsv")
        write(sheets([second]), arguments.judgments / "second.tsv")
    facts = assemble(arguments.judgments, read_pool(arguments.pool), arguments.out)
    print(json.dumps(facts, indent=2))


if __name__ == "__main__":
    main()
