"""One module per source: its address, its etiquette, and how its answers become papers."""
