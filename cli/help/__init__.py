"""What the command line says of itself; imported only when it is asked for."""
