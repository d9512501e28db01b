"""The reference loop: it does what `next` answers, with agents, gates and hooks."""
