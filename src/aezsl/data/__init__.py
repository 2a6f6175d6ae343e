"""What a problem is made of: tables, vectors, normalisation, statistics, the problem itself. No kedro."""
