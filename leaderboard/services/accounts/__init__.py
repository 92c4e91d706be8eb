"""People who sign in: their accounts, names, passwords and sessions, and the teams they form."""
