"""What can come of a check: the one map from code to a sentence and its remedy."""

from dataclasses import dataclass

from django.db.models import TextChoices
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _


class Code(TextChoices):
    """The value is what stands in ``Attempt.code`` and in the API; the label is for people."""

    OK = "ok", _("The address is verified.")
    ADDRESS_REFUSED = "address_refused", _("The address breaks the rules for addresses.")
    DNS_NOT_FOUND = "dns_not_found", _("The host name is not known to the name servers.")
    DNS_TIMEOUT = "dns_timeout", _("The name servers of the host did not answer.")
    DNS_PRIVATE_ADDRESS = (
        "dns_private_address",
        _("The host name leads to an address that is not on the public internet."),
    )
    CONNECT_TIMEOUT = "connect_timeout", _("The host did not answer a connection.")
    CONNECT_REFUSED = "connect_refused", _("The host refused the connection.")
    CONNECT_FAILED = "connect_failed", _("There is no way to the host.")
    TLS_INVALID = "tls_invalid", _("The host has no valid certificate.")
    TLS_NAME_MISMATCH = "tls_name_mismatch", _("The certificate is for another host name.")
    SLOW_RESPONSE = "slow_response", _("The answer took too long.")
    BROKEN_RESPONSE = "broken_response", _("The answer was not HTTP, or broke off.")
    NOT_FOUND = "not_found", _("The host has no verification file.")
    HTTP_STATUS = "http_status", _("The host answered with a status other than 200.")
    REDIRECT_REFUSED = "redirect_refused", _("The answer led to another host.")
    REDIRECT_LOOP = "redirect_loop", _("The answer led on too many times.")
    TOO_LARGE = "too_large", _("The verification file is too large.")
    COMPRESSED = "compressed", _("The verification file came compressed.")
    WRONG_CONTENT = "wrong_content", _("The verification file lacks this coordinator's line.")
    WRONG_TOKEN = "wrong_token", _("The verification file has an old line of this coordinator.")
    OUTDATED = "outdated", _("The address was changed before it could be checked.")
    INTERRUPTED = "interrupted", _("The check was interrupted on our side.")


# The host answers and does not show the line: it may be in other hands, so the grace is short.
DENIALS = frozenset(
    (Code.ADDRESS_REFUSED, Code.DNS_PRIVATE_ADDRESS, Code.NOT_FOUND, Code.REDIRECT_REFUSED)
    + (Code.REDIRECT_LOOP, Code.TOO_LARGE, Code.COMPRESSED, Code.WRONG_CONTENT, Code.WRONG_TOKEN)
)
# These say nothing about the address.
OURS = frozenset((Code.OUTDATED, Code.INTERRUPTED))

_REMEDIES: dict[Code, str | Promise] = {
    Code.OK: _("Nothing is to be done; leave the file in place."),
    Code.ADDRESS_REFUSED: _("Change the address to a public https address with a host name."),
    Code.DNS_NOT_FOUND: _("Check the spelling; a new DNS record can take hours to be seen."),
    Code.DNS_TIMEOUT: _("Try again in some minutes; if it stays, ask whoever runs your DNS."),
    Code.DNS_PRIVATE_ADDRESS: _(
        "Remove private and special addresses from all A and AAAA records of the name."
    ),
    Code.CONNECT_TIMEOUT: _("Let the port through your firewall, and start the web server."),
    Code.CONNECT_REFUSED: _("Start the web server, and let it listen on this port."),
    Code.CONNECT_FAILED: _("Check the A and AAAA records, and whether the host is reachable."),
    Code.TLS_INVALID: _(
        "Install a certificate of a public authority with its whole chain; see when it expires."
    ),
    Code.TLS_NAME_MISMATCH: _("Get a certificate that names exactly this host."),
    Code.SLOW_RESPONSE: _("Serve the file as a static one; it must arrive within 10 seconds."),
    Code.BROKEN_RESPONSE: _("Try the curl command; look into your web server's log."),
    Code.NOT_FOUND: _(
        "Put the file where the curl command finds it; some servers hide folders that begin "
        "with a dot."
    ),
    Code.HTTP_STATUS: _("Let everybody read the file without signing in; try the curl command."),
    Code.REDIRECT_REFUSED: _(
        "Serve the file at the address itself, or give us the address that it leads to."
    ),
    Code.REDIRECT_LOOP: _("Serve the file with at most three redirects."),
    Code.TOO_LARGE: _("Keep the file within 16 KiB; one line per coordinator is enough."),
    Code.COMPRESSED: _("Switch compression off for this file."),
    Code.WRONG_CONTENT: _("Put the whole line into the file, as plain text on a line of its own."),
    Code.WRONG_TOKEN: _("Replace the line; a changed address has a new one."),
    Code.OUTDATED: _("Check the new address."),
    Code.INTERRUPTED: _("Check again; scheduled checks do so by themselves."),
}


@dataclass(frozen=True)
class Explanation:
    """A code in words; both are lazy, so they come out in the reader's language."""

    code: Code
    sentence: str | Promise
    remedy: str | Promise


EXPLANATIONS = {code: Explanation(code, code.label, _REMEDIES[code]) for code in Code}


def explain(code: str) -> Explanation:
    """Return what an attempt's ``code`` means; raises ValueError for one that is none."""
    return EXPLANATIONS[Code(code)]


def explained(code: str) -> Explanation | None:
    """As ``explain``; None for the empty code of an attempt that is not finished."""
    return explain(code) if code else None
