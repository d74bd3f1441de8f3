"""Figures that mean something on any machine: each is taken beside a bare loop that does the least the job can do."""
