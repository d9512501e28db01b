"""Places a log can be kept in, all behind the port and one conformance suite."""
