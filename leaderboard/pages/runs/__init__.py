"""The page of a run, part by part, and the form that sends one."""
