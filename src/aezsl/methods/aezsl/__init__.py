"""AEZSL: the method, the exact solver, the table of a path, and the paper's own sweeps."""
