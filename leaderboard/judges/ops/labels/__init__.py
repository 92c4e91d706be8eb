"""Labels of judges, and the judgments they are compared with."""
