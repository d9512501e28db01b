"""The help of the command line; imported only on demand."""
