"""Commands of the section Journal."""
