"""What the verbs on keys refuse, beside ValidationError for what somebody filled in."""


class TooManyKeys(Exception):
    """Its owner has as many live keys as one may have; revoke one first."""


class NotYours(Exception):
    """Only its owner may do this to a key, and only staff may revoke it beside them."""


class NotLive(Exception):
    """The key has expired, or was revoked or replaced before."""


class BeyondReach(Exception):
    """A key asked for one that may do more than itself."""
