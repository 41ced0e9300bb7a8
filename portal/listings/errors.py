"""What a listing's verbs refuse."""


class NotAllowed(Exception):
    """This person may not do this to the listing; the message says who may."""


class WrongState(Exception):
    """The listing is not in a state from which this can be done; the message says which."""
