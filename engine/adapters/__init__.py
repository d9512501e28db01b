"""What happens outside the log: processes and files; effects, no rules."""
