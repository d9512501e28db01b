"""Copies of the record that are asked in SQL or searched by words; never trusted."""
