"""The daemon's duties, without a screen."""
