"""Rows: the sessions this box runs, each in a capsule of its own."""
