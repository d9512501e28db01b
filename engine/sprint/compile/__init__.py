"""From SPRINT.yaml and its workflows to a plan: pure, all problems at once."""
