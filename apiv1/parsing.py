"""JSON in small bodies, and JSON out whatever the client says it accepts."""

import io
import json
from typing import IO, Any

from django.utils.translation import gettext as _
from rest_framework.exceptions import ParseError
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.parsers import BaseParser, JSONParser
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request

from apiv1.errors import TooLarge

# The longest application is some 9,000 characters.
MAX_BYTES = 64 * 1024


class SmallJSONParser(JSONParser):
    def parse(
        self,
        stream: IO[bytes],
        media_type: str | None = None,
        parser_context: dict[str, Any] | None = None,
    ) -> Any:
        """Raises TooLarge and ParseError, the latter for nesting without end, too."""
        body = stream.read(MAX_BYTES + 1)
        if len(body) > MAX_BYTES:
            raise TooLarge
        try:
            return super().parse(io.BytesIO(body), media_type, parser_context)
        except RecursionError:
            raise ParseError(_("The JSON is nested too deeply.")) from None
        except ParseError as error:
            raise ParseError(_what_is_wrong(error.__context__)) from None


def _what_is_wrong(error: BaseException | None) -> str:
    if not isinstance(error, json.JSONDecodeError):
        return _("The body is not JSON in UTF-8.")
    place = {"line": error.lineno, "column": error.colno}
    return _("The body is not JSON: see line %(line)s, column %(column)s.") % place


class AlwaysJSON(BaseContentNegotiation):
    """There is one representation, so nothing is to be negotiated and nobody gets a 406."""

    def select_parser(self, request: Request, parsers: list[BaseParser]) -> BaseParser | None:
        plain = (request.content_type or "").partition(";")[0].strip().lower()
        return next((parser for parser in parsers if parser.media_type == plain), None)

    def select_renderer(
        self, request: Request, renderers: list[BaseRenderer], format_suffix: str | None = None
    ) -> tuple[BaseRenderer, str]:
        return renderers[0], renderers[0].media_type
