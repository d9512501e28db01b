"""Commands and questions for programs that stay: JSON-RPC 2.0, one object a line."""
