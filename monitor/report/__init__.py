"""One report of an endpoint as text, JSON or a self-contained page; pure, everything is given to it."""
