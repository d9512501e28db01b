"""The reference loop behind `run`: it performs what `next` answers.

It runs agents, gates and hooks, and may import all of the service and the adapters. Start
with `runner.py` for the loop, and `agent.py` for one run of the agent.
"""
