"""From image files to feature vectors."""
