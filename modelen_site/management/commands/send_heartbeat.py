"""Tell another server's portal how a run of this server is doing."""

import os
import time
from argparse import ArgumentParser
from typing import Any

import requests
from django.core.management.base import BaseCommand, CommandError

from coordination.models import Run
from modelen_site.heartbeat import Portal, beat_of

RETRY_S = 60.0


class Command(BaseCommand):
    help = (
        "Send a run's heartbeat to a portal on another server, again and again in the interval "
        "that it asks for. The API key comes from the variable MODELEN_PORTAL_KEY."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("run", help="the run's slug on this server")
        parser.add_argument("--portal", required=True, help="such as https://portal.example.org")
        parser.add_argument("--as", dest="listed", help="its short name there, if it differs")
        parser.add_argument("--once", action="store_true", help="send one and stop")

    def handle(self, *args: object, **options: Any) -> None:
        key = os.environ.get("MODELEN_PORTAL_KEY", "")
        if not key:
            raise CommandError("put an API key with heartbeat:write into MODELEN_PORTAL_KEY")
        if not Run.objects.filter(slug=options["run"]).exists():
            raise CommandError(f"there is no run {options['run']}; see `manage.py create_run`")
        portal = Portal(options["portal"], options["listed"] or options["run"], key)
        if options["once"]:
            self.send(portal, options["run"])
            return
        self.send_until_stopped(portal, options["run"])

    def send(self, portal: Portal, slug: str) -> float:
        """Send one; returns the seconds until the next is due.

        Raises:
            CommandError: the portal refused it or did not answer.
        """
        # The time rises over restarts too, which is all that the portal asks of it.
        beat = beat_of(Run.objects.get(slug=slug), seq=time.time_ns() // 10**6)
        try:
            wanted = portal.send(beat)
        except requests.RequestException as error:
            raise CommandError(f"the heartbeat was not taken: {error}") from error
        self.stdout.write(f"round {beat.round}: sent, next in {wanted:.0f} s")
        return wanted

    def send_until_stopped(self, portal: Portal, slug: str) -> None:
        while True:
            try:
                wait = self.send(portal, slug)
            except CommandError as error:
                self.stderr.write(str(error))
                wait = RETRY_S
            try:
                time.sleep(wait)
            except KeyboardInterrupt:
                return
