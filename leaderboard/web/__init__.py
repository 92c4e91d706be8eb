"""Shared parts of all pages: sessions, rules, security, action forms, cached responses and charts."""
