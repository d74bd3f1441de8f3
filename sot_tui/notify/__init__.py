"""The notify control protocol, whole: from an agent's hook to one push in words worth reading."""
