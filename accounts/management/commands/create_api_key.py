from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError, CommandParser

from accounts.keys.create import MAX_DAYS, create_key
from accounts.keys.errors import TooManyKeys
from accounts.keys.scopes import Scope
from accounts.models import User


class Command(BaseCommand):
    help = "Make an API key for somebody's account. Its secret is the last line printed, this once."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("email", help="of the account that the key acts for")
        parser.add_argument("--name", required=True, help="what the key is for")
        parser.add_argument(
            "--scope", action="append", required=True, choices=Scope.values, help="may be repeated"
        )
        parser.add_argument("--coordinator", help="short name of the only one it works for")
        parser.add_argument("--days", type=int, default=MAX_DAYS, help="until it expires")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            owner = User.objects.get(email__iexact=options["email"], is_active=True)
        except User.DoesNotExist:
            raise CommandError(f"no active account has the address {options['email']}") from None
        coordinator = _coordinator_of(owner, options["coordinator"])
        try:
            key, secret = create_key(
                owner, options["name"], options["scope"], coordinator, options["days"]
            )
        except (ValidationError, TooManyKeys) as error:
            raise CommandError(" ".join(getattr(error, "messages", [str(error)]))) from None
        self.stderr.write(f"{key}, valid until {key.expires_at:%Y-%m-%d}; its secret:")
        self.stdout.write(secret)


def _coordinator_of(owner: User, slug: str | None) -> Any | None:
    """Raises CommandError unless it is the owner's; the portal's model is not known here."""
    if slug is None:
        return None
    found = owner.coordinators.filter(slug=slug).first()
    if found is None:
        raise CommandError(f"{owner} has no coordinator {slug}")
    return found
