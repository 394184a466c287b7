"""The agent: messages, providers, tools, loop, sessions, cost. Knows no screen."""
