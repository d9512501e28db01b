"""What events and figures say in words, for terminals and pages alike."""
