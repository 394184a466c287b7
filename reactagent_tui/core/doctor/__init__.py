"""`reactagent doctor`: tries a model and its server out, with few and tiny requests, and says what to do."""
