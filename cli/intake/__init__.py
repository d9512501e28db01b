"""Validated input of users and other tools; errors name the path of a bad field."""
