"""Methods whose seen classes are the named classifiers in the last layer of a network: no image is learnt from."""
