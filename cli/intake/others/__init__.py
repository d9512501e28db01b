"""What the files of other loops say, read field by field; nothing is recorded here."""
