from typing import Any

from django.core.management.base import BaseCommand

from accounts.second_factor import renew_all


class Command(BaseCommand):
    help = "Encrypt the secrets of all second factors with the newest secret of the site."

    def handle(self, *args: Any, **options: Any) -> None:
        self.stdout.write(f"{renew_all()} second factors are encrypted with the newest secret.")
