"""A log in a PostgreSQL database, which many machines share."""
