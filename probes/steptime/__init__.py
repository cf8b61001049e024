"""How long an engine step takes over batch, K and tokens, so that curves can be moved to today's traffic; pure."""
