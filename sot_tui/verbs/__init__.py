"""The commands a session types, one file per verb, each a light process."""
