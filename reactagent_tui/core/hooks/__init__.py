"""Commands of the user that are told what the agent does, and may object."""
