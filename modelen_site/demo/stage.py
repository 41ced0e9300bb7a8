"""What stands before the first volunteer comes: a site with a listed coordinator and its run.

Everything through the verbs and commands that people use.
"""

import os
import secrets
import time
from io import StringIO
from pathlib import Path

from django.core.management import call_command
from django.db import connection

from modelen_site.demo.places import Places
from modelen_site.demo.plan import DemoFailed, Plan
from modelen_site.demo.texts import Texts

ADMIN = "admin@demo.example"
OPERATOR = "operator@demo.example"
NAME = "Turkish columns (demo)"


def make_database() -> None:
    call_command("migrate", interactive=False, verbosity=0)
    connection.close()


def make_admin(kept: Path) -> str:
    """Make the administrator; returns the password, which ``kept`` holds for its owner only."""
    from accounts.create_admin import create_admin

    password = secrets.token_urlsafe(12)
    create_admin(ADMIN, password)
    with os.fdopen(os.open(kept, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w") as file:
        file.write(f"{ADMIN}\n{password}\n")
    return password


def list_coordinator(url: str, slug: str) -> None:
    """Apply as an operator and approve as the administrator."""
    from accounts.models import User
    from portal.listings.decide import approve
    from portal.listings.edit import begin
    from portal.listings.submit import submit

    # Staff, since a portal vouches on its own host for none but its own people.
    operator = User.objects.create_user(OPERATOR, is_staff=True)
    coordinator = begin(
        operator,
        name=NAME,
        slug=slug,
        address=url,
        description="Two volunteers on one computer teach a small English model some Turkish.",
        base_model="HuggingFaceTB/SmolLM2-135M",
        languages="tr",
        data_source="Newspaper columns of the demo's own texts.",
        data_licence="see the run's page",
        contact=OPERATOR,
    )
    submit(coordinator, by=operator)
    approve(coordinator, by=User.objects.get(email=ADMIN))


def prove_address(slug: str) -> None:
    """Have the portal fetch the line that the server, now running, shows for its coordinator.

    Raises:
        DemoFailed: it did not find the line.
    """
    from portal.models import Attempt, Coordinator, Proof
    from portal.verification.check import run_check
    from portal.verification.request import request_check

    coordinator = Coordinator.objects.get(slug=slug)
    attempt = request_check(coordinator, coordinator.operator, Attempt.Trigger.OWNER)
    run_check(attempt.pk)
    coordinator.refresh_from_db()
    if coordinator.proof != Proof.VERIFIED:
        attempt.refresh_from_db()
        raise DemoFailed(f"the coordinator's address was not verified ({attempt.code})")


def demand_listed(slug: str, within_s: float = 60.0) -> str:
    """Wait until the directory has the coordinator online by its own heartbeats; its address there.

    Raises:
        DemoFailed: it does not appear.
    """
    from portal.models import Coordinator, Presence

    deadline = time.monotonic() + within_s
    while time.monotonic() < deadline:
        found = Coordinator.objects.listed().filter(slug=slug, presence=Presence.ONLINE).first()
        if found:
            return found.get_absolute_url()
        time.sleep(0.5)
    raise DemoFailed("the directory does not show the coordinator as online")


def make_run(plan: Plan, texts: Texts, places: Places) -> None:
    """One shard per worker, so that every worker has a task in every round."""
    shards = places.home / "shards"
    call_command(
        "shard_text",
        texts.train,
        format=plan.format,
        shards=plan.workers,
        seq=plan.seq_len,
        out=shards,
        source=texts.source,
        licence=texts.licence,
        stdout=StringIO(),
    )
    call_command(
        "create_run",
        plan.slug,
        name=NAME,
        format=plan.format,
        data=shards,
        rounds=plan.rounds,
        inner_steps=plan.inner_steps,
        batch_size=plan.batch_size,
        seq_len=plan.seq_len,
        lr=plan.lr,
        chunk_bytes=plan.chunk_bytes,
        stdout=StringIO(),
    )


def newest_snapshot(slug: str) -> Path:
    """The file that the last published round has left."""
    from coordination.models import Run, Snapshot
    from coordination.storage import blobs

    newest = Snapshot.objects.filter(run=Run.objects.get(slug=slug)).latest("number")
    return blobs().path(newest.sha256)
