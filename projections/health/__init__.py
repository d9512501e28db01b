"""Verification, salvage, copying and redaction of logs."""
