"""The transport of the load: one keep-alive HTTP/1.1 connection per stream, stamped where bytes leave and arrive.

Proxy variables are never read: a load must reach the worker it names, and nothing in between may queue or buffer.
Redirects are not followed, and nothing here decides whether to send again.
"""
