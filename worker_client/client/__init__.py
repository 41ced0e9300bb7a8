"""Protocol v1 from the worker's side: requests, downloads, uploads and their retries.

Nothing here knows about training. What a coordinator sends is hostile until it has passed
through ``worker_client.contract``.
"""
