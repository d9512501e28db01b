"""The MCP server: questions and commands as tools for agents."""
