"""The command line: parse, call the workspace, print."""
