"""Commands of the section Work."""
