"""Runs between real sites: keys, manifests, messages over mutual TLS, and a crash at any moment.

`keys` and `manifest` are what owners agree on; `site` lays a run out from it; `party` takes a
member's turns; `wire`, `mailbox`, `outgoing` and `transport` carry its messages; `agent` is a
member's process, and `rehearse` starts all of them on one machine.
"""
