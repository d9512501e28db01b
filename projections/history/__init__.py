"""Questions about the past: what was different, who set it, what followed."""
