"""Other programs, run under a time limit until all their processes have ended.

Start with `supervised.py`, which runs a program under a supervisor process;
`gate_script.py` has the runs of gate scripts, agents and hooks.
"""
