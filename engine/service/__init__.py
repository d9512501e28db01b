"""The service: handles commands, appends their events, and changes files of the work tree.

It is the only part of the engine that causes changes, and may import all other parts;
projections, the command line and the library use it. Start with `workspace.py`, then
`handle.py` for the way of one command.
"""
