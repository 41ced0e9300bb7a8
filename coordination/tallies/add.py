"""Add to counters in one statement, whether their rows exist yet or not."""

from collections.abc import Iterable, Sequence
from typing import Any

from django.db import connection, models


def add(
    model: type[models.Model],
    key: Sequence[str],
    counted: Sequence[str],
    rows: Iterable[tuple[Any, ...]],
) -> None:
    """Raise the columns ``counted`` of the rows found by the columns ``key``; what no row is
    found for becomes one.

    Each of ``rows`` has the values of ``key`` and then what to add to ``counted``. They are
    written in order of their keys: two processes that lock rows in two orders are a deadlock.
    """
    values = sorted(rows)
    if not values:
        return
    quote = connection.ops.quote_name
    table, names = quote(model._meta.db_table), [quote(name) for name in (*key, *counted)]
    raised = ", ".join(f"{name} = {table}.{name} + excluded.{name}" for name in names[len(key) :])
    marks = f"({', '.join(['%s'] * len(names))})"
    statement = (
        f"INSERT INTO {table} ({', '.join(names)}) VALUES {', '.join([marks] * len(values))} "
        f"ON CONFLICT ({', '.join(names[: len(key)])}) DO UPDATE SET {raised}"
    )
    with connection.cursor() as cursor:
        cursor.execute(statement, [value for row in values for value in row])
