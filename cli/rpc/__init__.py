"""Commands and questions over JSON-RPC 2.0, one object per line; see `session` first."""
