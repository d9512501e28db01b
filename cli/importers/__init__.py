"""Importers: the files of other loops, read field by field into plans and facts."""
