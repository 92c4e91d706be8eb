"""Pools of documents to judge."""
