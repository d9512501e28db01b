"""What people see: how wide, in which colours, times and numbers."""
