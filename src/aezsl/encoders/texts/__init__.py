"""From what describes a class to its semantic vector."""
