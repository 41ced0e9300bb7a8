"""What a worker and a coordinator must agree on.

Imports the standard library, numpy and pydantic only: no torch, no Django, and nothing
else of ``worker_client``. Either side can be rewritten against this folder alone.
"""

PROTOCOL_VERSION = 1
PROTOCOL_HEADER = "X-Modelen-Protokol"
LEASE_KEY_HEADER = "X-Modelen-Anahtar"
UPLOAD_OFFSET_HEADER = "Upload-Offset"
MAX_JSON_BYTES = 64 * 1024
