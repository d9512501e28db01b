"""The meaning of an agent's answer: its verdict, its items, and limits that it reports."""
