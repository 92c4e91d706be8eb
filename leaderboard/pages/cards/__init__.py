"""What pages elsewhere show of a task, run or snapshot: never more than a visitor may see."""
