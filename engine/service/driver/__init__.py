"""The reference loop of `run`, which performs the actions that `next` returns.

It runs agents, gates and hooks, and may import the complete service and all adapters. Start
with `runner.py` for the loop, and `agent.py` for a single run of the agent.
"""
