"""The all-reduce across the nodes, and what is judged of it."""
