"""Commands of the section Begin."""
