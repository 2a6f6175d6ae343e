"""Tables, figures and the page people open: pure functions, every figure drawn once."""
