"""Messages and their storage: wire format, transport, mailbox and journal."""
