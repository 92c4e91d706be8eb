"""One tool in Python, on files or dictionaries: TOOL files|official|dictionaries QRELS RUN..."""

import json
import sys
import time
from collections.abc import Callable, Collection, Sequence
from functools import partial
from pathlib import Path
from typing import Any

MEASURES = ("AP", "nDCG", "nDCG@10", "P@10", "R@100", "RR")
TREC = {"map", "ndcg", "ndcg_cut.10", "P.10", "recall.100", "recip_rank"}
RANX = ["map", "ndcg", "ndcg@10", "precision@10", "recall@100", "mrr"]

Grades = dict[str, dict[str, Any]]


def _leaderboard_files(qrels: str, runs: list[str], measures: Sequence[str] = MEASURES) -> object:
    import leaderboard as lb

    return lb.evaluate(qrels, runs, measures, dialect=9).mean


def _pytrec_eval_files(qrels: str, runs: list[str], measures: Collection[str] = TREC) -> object:
    import pytrec_eval

    with open(qrels) as lines:
        evaluator = pytrec_eval.RelevanceEvaluator(pytrec_eval.parse_qrel(lines), measures)
    scores = []
    for path in runs:
        with open(path) as lines:
            scores.append(evaluator.evaluate(pytrec_eval.parse_run(lines)))
    return scores


def _ir_measures_files(qrels: str, runs: list[str]) -> object:
    import ir_measures

    measures = [ir_measures.parse_measure(name) for name in MEASURES]
    evaluator = ir_measures.evaluator(measures, list(ir_measures.read_trec_qrels(qrels)))
    return [list(evaluator.iter_calc(ir_measures.read_trec_run(path))) for path in runs]


def _ranx_files(qrels: str, runs: list[str]) -> object:
    from ranx import Qrels, Run, evaluate

    judged = Qrels.from_file(qrels, kind="trec")
    return [evaluate(judged, Run.from_file(path, kind="trec"), RANX) for path in runs]


def _leaderboard(qrels: Grades, run: Grades) -> object:
    import leaderboard as lb

    return lb.RelevanceEvaluator(qrels, TREC).evaluate(run)


def _pytrec_eval(qrels: Grades, run: Grades) -> object:
    import pytrec_eval

    return pytrec_eval.RelevanceEvaluator(qrels, TREC).evaluate(run)


def _ir_measures(qrels: Grades, run: Grades) -> object:
    import ir_measures

    return list(ir_measures.iter_calc([ir_measures.parse_measure(name) for name in MEASURES], qrels, run))


def _ranx(qrels: Grades, run: Grades) -> object:
    from ranx import Qrels, Run, evaluate

    return evaluate(Qrels(qrels), Run(run), RANX)


FILES: dict[str, Callable[[str, list[str]], object]] = {
    "leaderboard": _leaderboard_files,
    "pytrec_eval": _pytrec_eval_files,
    "ir_measures": _ir_measures_files,
    "ranx": _ranx_files,
}
OFFICIAL: dict[str, Callable[[str, list[str]], object]] = {
    "leaderboard": partial(_leaderboard_files, measures=["official"]),
    "pytrec_eval": partial(_pytrec_eval_files, measures=["official"]),
}
"""With trec_eval's usual measures."""
DICTIONARIES: dict[str, Callable[[Grades, Grades], object]] = {
    "leaderboard": _leaderboard,
    "pytrec_eval": _pytrec_eval,
    "ir_measures": _ir_measures,
    "ranx": _ranx,
}


def _as_dictionaries(path: str, number: Callable[[str], float], column: int) -> Grades:
    found: Grades = {}
    with open(path) as lines:
        for line in lines:
            fields = line.split()
            found.setdefault(fields[0], {})[fields[2]] = number(fields[column])
    return found


def _status(name: str) -> float:
    """MB that Linux says of this process."""
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) for line in lines if line.startswith(name)) / 1024


def _measured(tool: str, qrels: Grades, run: Grades) -> None:
    """Evaluate what is in memory; a first time on one topic, so that imports and compilers are paid for."""
    topic = next(iter(qrels))
    DICTIONARIES[tool]({topic: qrels[topic]}, {topic: run[topic]})
    Path("/proc/self/clear_refs").write_text("5")
    before, wall, processor = _status("VmRSS"), time.perf_counter(), time.process_time()
    kept = DICTIONARIES[tool](qrels, run)
    costs = {"wall": time.perf_counter() - wall, "processor": time.process_time() - processor}
    print(json.dumps({**costs, "megabytes": _status("VmHWM") - before}), flush=True)
    del kept


def main(tool: str, kind: str, qrels: str, runs: list[str]) -> None:
    """Score; from dictionaries say what it took without reading them."""
    if kind != "dictionaries":
        {"files": FILES, "official": OFFICIAL}[kind][tool](qrels, runs)
    else:
        _measured(tool, _as_dictionaries(qrels, int, 3), _as_dictionaries(runs[0], float, 4))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:])
