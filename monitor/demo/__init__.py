"""The demo: simulated servers, real everything else, and a story told within a minute."""
