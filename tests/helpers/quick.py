"""Which methods stand for all of them in the quick tests: one per shape of method and pipeline.

Of the others, what holds for every method is slow: together it takes as long as all other quick tests.
"""

QUICK_METHODS = ("eszsl", "aezsl", "aezsl_lr", "aezsl_t", "conse", "cosine", "daezsl", "jeac")
