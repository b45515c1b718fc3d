"""Models of what tacit does between sites, for a checker that visits every state."""
