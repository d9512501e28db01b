"""YAML as written by js-yaml, and read according to the YAML 1.2 core schema."""
