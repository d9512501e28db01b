"""What packages of others bring, and how it is looked at."""
