"""The JSON of every answer: what `--json` prints and `schema answers` describes."""
