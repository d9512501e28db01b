"""What `run` is told and tells of beside its work: budgets, and what would be done."""
