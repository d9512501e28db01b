"""The append-only log: envelope, hash chain, port and stores. It knows no sprint."""
