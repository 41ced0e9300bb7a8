"""What a listing's verbs refuse."""

from django.utils.translation import gettext as _


class NotAllowed(Exception):
    """This person may not do this to the listing; the message says who may."""


class WrongState(Exception):
    """The listing is not in a state from which this can be done; the message says which."""


class Outdated(Exception):
    """The listing has changed since it was read; read it again before deciding."""


class Taken(Exception):
    """Another listing has this ``field``, which is ``address`` or ``slug``, already."""

    def __init__(self, field: str) -> None:
        texts = {
            "address": _("Another coordinator has this address already. Choose another address."),
            "slug": _("Another coordinator has this short name already. Choose another one."),
        }
        super().__init__(texts[field])
        self.field = field


class Incomplete(Exception):
    """Something that an admin needs is missing; ``fields`` maps its name to a sentence."""

    def __init__(self, fields: dict[str, str]) -> None:
        super().__init__("; ".join(f"{name}: {text}" for name, text in fields.items()))
        self.fields = fields
