"""How conf is read: Kedro's loader with more resolvers, and the schema that all parameters are held to."""
