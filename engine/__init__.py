"""Events, rules and the log: everything that knows no file, no terminal and no reader."""
