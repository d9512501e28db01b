"""Commands of the section Go back."""
