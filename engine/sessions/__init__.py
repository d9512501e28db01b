"""What an agent did in one of its sessions: events of a stream of their own (pure)."""
