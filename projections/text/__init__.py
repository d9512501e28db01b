"""Descriptions of events and figures, for terminals and pages."""
