"""A standing agent: one process per site, a queue of runs that its owner approves, a page."""
