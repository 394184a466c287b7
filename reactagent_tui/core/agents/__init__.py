"""Sub-agents: a task in, a run of its own, a result out."""
