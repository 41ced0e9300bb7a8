"""``manage.py serve``: the whole site in one command."""

from argparse import ArgumentParser
from contextlib import ExitStack
from typing import Any

from django.conf import settings
from django.core.management import BaseCommand, CommandError, call_command
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from modelen_site.celery import app
from modelen_site.embedded import running
from worker_client.contract.addresses import is_loopback


class Command(BaseCommand):
    help = "Serve pages, live status and the protocol; in embedded mode run the tasks as well."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--host", default="127.0.0.1", help="the address to listen on")
        parser.add_argument("--port", type=int, default=8000, help="the port; 0 takes a free one")
        parser.add_argument(
            "--allow-network",
            action="store_true",
            help="in embedded mode, listen on an address that other computers reach",
        )

    def handle(self, *, host: str, port: int, allow_network: bool, **options: Any) -> None:
        if settings.MODELEN_EMBEDDED and not (is_loopback(host) or allow_network):
            raise CommandError(
                f"{host} is reachable from other computers, and embedded mode has neither TLS nor "
                "a proxy that limits what each of them sends. Use 127.0.0.1, set up Redis and a "
                "proxy for a public site, or give --allow-network on a network you trust."
            )
        self.update_database()
        self.serve(host, port)

    def update_database(self) -> None:
        """Apply what migrations are missing; a shared database is left to its operator.

        Raises:
            CommandError: a public site's database is not up to date.
        """
        executor = MigrationExecutor(connection)
        missing = executor.migration_plan(executor.loader.graph.leaf_nodes())
        # Else the migration history stays in memory for as long as the server runs.
        connection.close()
        if not missing:
            return
        if not settings.MODELEN_EMBEDDED:
            raise CommandError(
                f"{len(missing)} migrations are missing; run `manage.py migrate` first"
            )
        self.stdout.write(f"Updating the database: {len(missing)} migrations ...")
        call_command("migrate", interactive=False, verbosity=0)

    def serve(self, host: str, port: int) -> None:
        # Imported here since it installs Twisted's reactor, which other commands do not need.
        from modelen_site.server import CannotListen, Limits, Server

        from modelen_site.asgi import application  # isort: skip

        with ExitStack() as services:

            def start_services() -> None:
                if settings.MODELEN_EMBEDDED:
                    services.enter_context(running(app))

            def announce(host: str, port: int) -> None:
                shown = f"[{host}]" if ":" in host else host
                self.stdout.write(f"Serving on http://{shown}:{port}/ (Ctrl-C stops)")
                self.stdout.flush()

            limits = Limits(body_bytes=settings.MAX_BODY_BYTES)
            try:
                Server(
                    application,
                    host,
                    port,
                    limits,
                    announce,
                    settings.MODELEN_BEHIND_PROXY,
                    on_listening=start_services,
                ).run()
            except CannotListen as error:
                raise CommandError(str(error)) from error
        self.stdout.write("Stopped.")
