"""How a node is built: launch-template data as a pure function, and what runs at boot as real shell files."""
