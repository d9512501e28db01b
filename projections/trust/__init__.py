"""Trust in a log: redaction, signed heads, and proofs."""
