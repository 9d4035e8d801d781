"""Run a launch on all nodes, and end it on all of them."""
