"""The service: handles commands, appends their events, and changes files in the work tree.

It is the only part of the engine that causes changes, and it may import all other parts;
projections, the command line and the library use it. Start with `workspace.py`, then read
`handle.py`, which handles a single command.
"""
