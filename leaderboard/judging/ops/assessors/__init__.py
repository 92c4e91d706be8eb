"""Assessors of documents: queues, labels, the event log and settling."""
