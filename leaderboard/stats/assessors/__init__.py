"""Agreement of assessors, settling of labels, judging times, votes."""
