"""Adapters for effects outside the log: processes, git, files, agents and reports.

Adapters contain no rules. They may import the sprint, the journal and the layers below;
only the service, projections and the command line may import adapters. Each package's
docstring names the module to start with.
"""
