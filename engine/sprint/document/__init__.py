"""Documents of other tools: names of fields, and patches, from which edits become events.

May import fold, gates, state, events and its siblings answers and phases. Start with
`field_path.py` and `patch.py`.
"""
