"""ReactAgent TUI: a full-screen terminal agent for any model."""

__version__ = "0.1.0"
