"""What surrounds every run: parameters are checked before it, MLflow's database is seen to, its end is told."""
