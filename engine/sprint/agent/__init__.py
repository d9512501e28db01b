"""What an agent is to do now, and what its run means."""
