"""Pages of tasks of judges: the judges' board, one judge, one topic of a judge."""
