"""Processes that evaluate queries, write, and read files for the server, and the pool that limits them."""
