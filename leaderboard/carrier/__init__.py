"""Celery as a carrier: the numbers of queued jobs go to other machines through a broker.

The table of jobs stays the truth: a message says which row to look at, and nothing is lost with it.
"""
