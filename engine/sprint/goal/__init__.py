"""Work towards a goal: Ralph mode."""
