"""The 26 values by pytrec_eval: QRELS RUN... on the command line."""

import sys

import pytrec_eval

from benchmarks import values
from benchmarks.tools.printing import opened, print_run


def main(qrels: str, runs: list[str]) -> None:
    """Read, score and print every run."""
    with opened(qrels) as lines:
        evaluator = pytrec_eval.RelevanceEvaluator(pytrec_eval.parse_qrel(lines), set(values.MEASURES))
    for path in runs:
        with opened(path) as lines:
            by_topic = evaluator.evaluate(pytrec_eval.parse_run(lines))
        print_run(
            {name: {topic: scores[name] for topic, scores in by_topic.items()} for name in values.NAMES}
        )


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
