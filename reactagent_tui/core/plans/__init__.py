"""Plan mode: what the model would do, as steps that the user accepts, edits or refuses before anything is changed."""
