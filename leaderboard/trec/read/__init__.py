"""The reader of run files and qrels: archives, lines, blocks of topics, and the kernel under it."""
