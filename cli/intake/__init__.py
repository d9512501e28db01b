"""Validated input from users and other tools; errors name the path of an invalid field."""
