"""A look back at a session: what was wasted, what could be learned from it, and what the user wants to keep of that."""
