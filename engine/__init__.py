"""The engine: events, the rules that produce them, the log, and the service on top.

Rules are pure: only `adapters`, `service` and the log's stores may use a clock, a file or a
process. Modules import only lower layers; from top to bottom, the layers are: service,
adapters, sprint and journal, judging and sessions, log, errors. Start with
`service/workspace.py` to use the engine, and with `log/event.py` to read its code.
"""
