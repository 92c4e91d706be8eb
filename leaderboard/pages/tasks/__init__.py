"""The front page, a task at a glance, and the page of its organisers."""
