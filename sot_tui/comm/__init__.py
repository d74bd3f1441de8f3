"""The contract's data at rest: registry, locks, inboxes, cursors, identity. Standard library only, synchronous."""
