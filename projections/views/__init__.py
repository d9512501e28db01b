"""The JSON answers of commands: printed by `--json`, described by `schema answers`."""
