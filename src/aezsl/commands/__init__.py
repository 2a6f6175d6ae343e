"""The project's own commands, beside Kedro's."""
