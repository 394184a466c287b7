"""Search of scholarly papers in six public sources, merged and ranked. Standard library only."""
