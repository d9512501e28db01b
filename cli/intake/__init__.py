"""What strangers hand in: read, checked with the path of the bad field, never changed."""
