"""The state machine of idea-spark and its deterministic steps. Standard library only."""
