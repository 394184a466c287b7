"""Places where the agent can work without touching the user's own tree, and walls around its commands."""
