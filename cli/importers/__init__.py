"""Importers, which convert other loops' files field by field into plans and facts."""
