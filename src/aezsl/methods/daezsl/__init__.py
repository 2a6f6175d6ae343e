"""DAEZSL: the network, what it is trained from, and its checkpoints."""
