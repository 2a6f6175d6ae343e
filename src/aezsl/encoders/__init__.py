"""From images and descriptions to vectors."""
