"""What all methods share: the contract, parameters, checks, seen data, classifiers."""
