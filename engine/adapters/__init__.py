"""Effects outside the log: processes, git, files, agents and reports.

Adapters decide no rules. They may import the sprint, the journal and the packages below;
only the service, projections and the command line may import them. Each package names the
module to start with.
"""
