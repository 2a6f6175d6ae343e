"""Progressive label refinement, and the methods that end with it."""
