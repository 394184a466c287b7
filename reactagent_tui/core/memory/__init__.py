"""What the program remembers from session to session: facts, found by words and by meaning."""
