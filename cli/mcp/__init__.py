"""`mcp`: the same questions and commands as tools that an agent's program calls."""
