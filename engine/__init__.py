"""The engine: events, the rules that decide on them, the log, and the service on top.

Rules are pure: only `adapters`, `service` and the log's stores may use a clock, a file or
a process. Imports point down: service, adapters, sprint and journal, judging and sessions,
log, errors. Start with `service/workspace.py` to use it, `log/event.py` to read it.
"""
