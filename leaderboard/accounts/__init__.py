"""Accounts: signing in, second factors, tokens, invitations and teams."""
