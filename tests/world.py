"""A site with something of everything, and the paths of all its pages as the URLconf has them."""

import hashlib
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from allauth.mfa.models import Authenticator
from allauth.mfa.recovery_codes.internal.auth import RecoveryCodes
from allauth.mfa.totp.internal.auth import TOTP
from allauth.socialaccount.models import SocialAccount
from cryptography.hazmat.primitives.asymmetric import ec
from django.contrib import admin
from django.contrib.auth.models import Group
from django.utils import timezone
from fido2.cose import ES256
from fido2.utils import websafe_encode
from fido2.webauthn import (
    Aaguid,
    AttestationObject,
    AttestedCredentialData,
    AuthenticatorData,
    CollectedClientData,
)

from accounts.addresses import verify_address
from accounts.create_admin import create_admin
from accounts.keys.create import create_key
from accounts.models import User
from coordination.models import Run, SamplePrompts, Samples, Snapshot
from portal.heartbeats.beat import Beat
from portal.heartbeats.receive import receive
from portal.listings.decide import request_changes
from portal.listings.submit import submit
from portal.models import Attempt, Coordinator
from portal.verification.codes import Code
from tests.accounts.people import PASSWORD
from tests.coordination.corpora import CORPUS
from tests.coordination.making import make_run
from tests.modelen_site.experiments.making import publish_made_up
from tests.portal.making import begin_draft, make_listed
from tests.routes import Route, all_routes

SECRET = "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP"


@dataclass(frozen=True)
class World:
    """Two people who have set up second factors, and what stands in addresses of theirs."""

    operator: User
    staff: User
    values: dict[str, Any]
    experiment: str

    def path(self, route: Route) -> str:
        """Where there is a page, if there is one."""
        values = dict(self.values)
        if route.route.startswith("c/"):
            values["slug"] = "tiny"
        if route.route.startswith("experiments/"):
            values |= {"slug": self.experiment, "name": "loss-tokens"}
        for model in admin.site._registry:
            if route.route.startswith(f"admin/{model._meta.app_label}/{model._meta.model_name}/"):
                row = model._default_manager.order_by("pk").first()
                values |= {"object_id": str(row.pk), "id": str(row.pk)} if row else {}
        return route.path(**values)


def build_world(folder: Path) -> World:
    """Something to show on every page; ``folder`` takes the files of a run."""
    operator = User.objects.create_user("operator@example.org", PASSWORD, name="Olga")
    verify_address(operator)
    staff = create_admin("admin@example.org", PASSWORD)
    run = make_run(folder)
    Run.objects.filter(pk=run.pk).update(corpus=CORPUS, corpus_public=True)
    _show_samples(run)
    listed = make_shown(operator, staff)
    changed = make_submitted(operator, "other")
    request_changes(changed, by=staff, message="Say more of the data.")
    make_submitted(operator, "third")
    key, _secret = create_key(operator, "beat", ["heartbeat:write"], listed, 30)
    factors = [_second_factors(user) for user in (operator, staff)]
    SocialAccount.objects.create(user=operator, provider="gitlab", uid="7")
    Group.objects.create(name="Readers")
    values = {"slug": listed.slug, "key_id": key.key_id, "pk": factors[0], "app_label": "accounts"}
    return World(operator, staff, values, publish_made_up())


def _show_samples(run: Run) -> None:
    prompt = {"language": "tr", "text": "Bir gün"}
    SamplePrompts.objects.create(run=run, prompts=[prompt])
    written = {"language": "tr", "prompt": "Bir gün", "text": " Hoca <b>pazara</b> gitmiş.\nSonra"}
    snapshot = Snapshot.objects.get(run=run)
    Samples.objects.create(snapshot=snapshot, claimed_at=timezone.now(), texts=[written])


def make_shown(operator: User, staff: User) -> Coordinator:
    """In the directory, with something to show in every part of its pages."""
    coordinator = make_listed(operator, staff, hardware="A GPU of 8 GB")
    for seq in (1, 2, 3):
        receive(coordinator, Beat(seq, "acik", round=seq, rounds=8, workers=4, loss=5.0 - seq))
    for code in (Code.NOT_FOUND, Code.OK):
        coordinator.attempts.create(
            trigger=Attempt.Trigger.OWNER,
            address=coordinator.address,
            queued_at=timezone.now(),
            finished_at=timezone.now(),
            code=code,
            hops=[{"status": 200}],
            received_bytes=80,
        )
    return coordinator


def make_submitted(operator: User, slug: str) -> Coordinator:
    """An application that waits for its decision."""
    coordinator = begin_draft(operator, slug)
    submit(coordinator, by=operator)
    return coordinator


def _second_factors(user: User) -> int:
    """Returns the id of the security key."""
    TOTP.activate(user, SECRET)
    RecoveryCodes.activate(user)
    data = {"name": "key", "credential": _credential()}
    kind = Authenticator.Type.WEBAUTHN
    return Authenticator.objects.create(user=user, type=kind, data=data).pk


def _credential() -> dict[str, Any]:
    """What a browser hands over when a security key is registered (WebAuthn, level 2)."""
    public = ES256.from_cryptography_key(ec.generate_private_key(ec.SECP256R1()).public_key())
    identifier = secrets.token_bytes(16)
    of_key = AttestedCredentialData.create(Aaguid.NONE, identifier, public)
    flags = AuthenticatorData.FLAG.UP | AuthenticatorData.FLAG.AT
    data = AuthenticatorData.create(hashlib.sha256(b"localhost").digest(), flags, 0, of_key)
    attestation = AttestationObject.create("none", data, {})
    challenge = secrets.token_bytes(32)
    client = CollectedClientData.create("webauthn.create", challenge, "http://localhost")
    response = {
        "clientDataJSON": websafe_encode(client),
        "attestationObject": websafe_encode(attestation),
    }
    name = websafe_encode(identifier)
    return {"id": name, "rawId": name, "type": "public-key", "response": response}


def pages(world: World) -> dict[str, str]:
    """Path of every named address, by name."""
    return {name: world.path(route) for name, route in all_routes().items() if route.name}
