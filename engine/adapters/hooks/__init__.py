"""What agents call by themselves: our entries in their own configuration files."""
