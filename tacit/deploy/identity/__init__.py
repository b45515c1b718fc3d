"""Who a member is: keys, certificates, pinned cards, requests and pinned parts."""
