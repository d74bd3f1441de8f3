"""sot-tui: the screen from which a person runs many coding-agent sessions."""
