"""YAML as js-yaml writes it, and read by the core schema of YAML 1.2."""
