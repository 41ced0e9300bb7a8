"""Every address of the site, read from the URLconf, so that a new one cannot be forgotten."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.urls import URLPattern, URLResolver, get_resolver, reverse

# What stands for a parameter of which a test names no better value.
ANYTHING = {"str": "x", "slug": "x", "int": 1, "path": "x", "uuid": "0" * 32}


@dataclass(frozen=True)
class Route:
    """A named address; ``parameters`` has the kind of converter of each."""

    name: str
    route: str
    parameters: tuple[tuple[str, str], ...]
    view: Any = None

    def path(self, **values: Any) -> str:
        """Its path with these values, and anything where there is none."""
        given = {name: values.get(name, ANYTHING[kind]) for name, kind in self.parameters}
        return reverse(self.name, kwargs=given) if self.name else f"/{self.route}"


def all_routes() -> dict[str, Route]:
    """By name, ``namespace:name``; what has no name by its route."""
    return {
        route.name or route.route: route for route in _routes(get_resolver(), Route("", "", ()))
    }


def _routes(resolver: URLResolver, above: Route) -> Iterator[Route]:
    """``above`` is what the addresses of the resolver begin with; its name is their namespace."""
    for pattern in resolver.url_patterns:
        route = above.route + str(pattern.pattern)
        parameters = above.parameters + _parameters(pattern)
        if isinstance(pattern, URLResolver):
            inner = f"{above.name}{pattern.namespace}:" if pattern.namespace else above.name
            yield from _routes(pattern, Route(inner, route, parameters))
        else:
            name = f"{above.name}{pattern.name}" if pattern.name else ""
            yield Route(name, route, parameters, pattern.callback)


def _parameters(pattern: URLPattern | URLResolver) -> tuple[tuple[str, str], ...]:
    kinds = {"Int": "int", "Slug": "slug", "UUID": "uuid", "Path": "path"}
    written = getattr(pattern.pattern, "regex", None)
    found = dict.fromkeys(written.groupindex if written else (), "str") | {
        key: kinds.get(type(converter).__name__.removesuffix("Converter"), "str")
        for key, converter in pattern.pattern.converters.items()
    }
    return tuple(found.items())
