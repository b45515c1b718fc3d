"""What travels and what is kept of it: wire format, transport, mailbox and journal."""
