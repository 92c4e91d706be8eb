"""What workers do at the end of a job, and how those on other machines come by theirs."""
