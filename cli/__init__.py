"""The command line interface: parse arguments, call the workspace and print answers."""
