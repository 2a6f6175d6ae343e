"""Balanced propagation on a pool of unlabelled images: this project's own step beyond the paper."""
