import pytest
from django.core.cache import cache
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from accounts.models import User
from benchmarks.directory import fill
from portal.directory.fold import fold
from portal.heartbeats.beat import Beat
from portal.heartbeats.receive import receive
from portal.listings.decide import suspend
from portal.listings.edit import edit
from portal.models import Coordinator, Proof
from tests.portal.making import begin_draft, make_approved, make_listed

LIST = "/coordinators/"


@pytest.fixture(autouse=True)
def _choices_are_counted_anew(db) -> None:
    cache.clear()


@pytest.fixture
def three(operator: User, admin: User) -> list[Coordinator]:
    first = make_listed(operator, admin, "isik", name="Işık", languages="tr", description="A")
    second = make_listed(
        operator, admin, "nordic", name="Nordic", languages="sv,no,da", mode="sft",
        base_model="HuggingFaceTB/SmolLM2-135M", description="B",
    )  # fmt: skip
    third = make_listed(operator, admin, "mixed", name="100%_mixed", languages="en,tr")
    receive(second, Beat(1, "acik", round=2, rounds=5, workers=7, loss=3.25))
    receive(third, Beat(1, "acik", round=1, rounds=5, workers=2))
    return [first, second, third]


def shown(client: Client, **query: str) -> list[str]:
    page = client.get(LIST, query)
    assert page.status_code == 200
    return [coordinator.slug for coordinator in page.context["page"]["coordinators"]]


@pytest.mark.parametrize(
    ("query", "slugs"),
    [
        ({}, "mixed nordic isik"),
        ({"presence": "online"}, "mixed nordic"),
        ({"presence": "never"}, "isik"),
        ({"mode": "sft"}, "nordic"),
        ({"model": "HuggingFaceTB/SmolLM2-135M"}, "nordic"),
        ({"language": "tr"}, "mixed isik"),
        ({"language": "no"}, "nordic"),
        ({"language": "da"}, "nordic"),
        ({"language": "n"}, "mixed nordic isik"),
        ({"q": "IŞIK"}, "isik"),
        ({"q": "ışık"}, "isik"),
        ({"q": "isik"}, "isik"),
        ({"q": "smollm2 nordic"}, "nordic"),
        ({"q": "%"}, "mixed"),
        ({"q": "0%_m"}, "mixed"),
        ({"q": "nothing like it"}, ""),
        ({"q": "tr", "presence": "online", "language": "tr"}, "mixed"),
        ({"sort": "name"}, "mixed isik nordic"),
        ({"sort": "workers"}, "nordic mixed isik"),
        ({"sort": "heard"}, "mixed nordic isik"),
        ({"presence": "x", "mode": "y", "sort": "z", "page": "-3", "language": "<"}, None),
        ({"q": "a\0b", "model": "\0", "page": "99999999999999999999"}, ""),
    ],
)
def test_filters_search_and_order(
    client: Client, three: list[Coordinator], query: dict, slugs: str | None
) -> None:
    expected = "mixed nordic isik" if slugs is None else slugs
    assert shown(client, **query) == expected.split()


def test_the_form_keeps_what_was_asked(client: Client, three: list[Coordinator]) -> None:
    page = client.get(LIST, {"q": 'a"b', "language": "xx", "sort": "name"}).content.decode()
    assert 'value="a&quot;b"' in page
    assert "<option selected>xx</option>" in page
    assert '<option value="name" selected>' in page
    assert "No coordinator matches" in page


def test_an_edit_is_found_by_its_new_words(client: Client, listed: Coordinator, operator: User):
    edit(listed, by=operator, name="Şimşek")
    assert shown(client, q="simsek") == ["demo"]
    assert shown(client, q="demo turkish") == ["demo"]


@pytest.mark.parametrize("same", [("IŞIK", "ışık", "Isik"), ("İzmir", "izmir", "IZMIR")])
def test_folding(same: tuple[str, ...]) -> None:
    assert len({fold(text) for text in same}) == 1


def test_only_approved_and_verified_ones_appear(
    client: Client, operator: User, stranger: User, admin: User
) -> None:
    make_listed(operator, admin, "good")
    begin_draft(operator, "draft")
    unverified = make_approved(operator, admin, "unverified")
    suspended = make_listed(operator, admin, "suspended")
    suspend(suspended, by=admin, message="It sent people to <b>another</b> site.")
    assert shown(client) == ["good"]
    for path in ("", "now", "feed.atom", "status.json", "badge.svg", "shields.json"):
        assert client.get(f"{LIST}good/{path}").status_code == 200
        for hidden in ("draft", "unverified", "suspended", "nowhere"):
            assert client.get(f"{LIST}{hidden}/{path}").status_code == 404
    for other in (stranger, admin):
        client.force_login(other)
        assert client.get(suspended.get_absolute_url()).status_code == 404
    client.force_login(operator)
    page = client.get(suspended.get_absolute_url())
    assert "no-store" in page["Cache-Control"]
    text = page.content.decode()
    assert "Only you see this page" in text
    assert "It sent people to &lt;b&gt;another&lt;/b&gt; site." in text
    assert "worker_client run" not in text
    assert (
        "its address is not verified" in client.get(unverified.get_absolute_url()).content.decode()
    )
    assert client.get(f"{LIST}suspended/status.json").status_code == 404


def test_the_page_of_a_coordinator(client: Client, listed: Coordinator) -> None:
    for number in (1, 2, 3):
        receive(
            listed,
            Beat(number, "acik", round=number, rounds=9, workers=4, loss=5.0 - number),
        )
    page = client.get(listed.get_absolute_url()).content.decode()
    for text in (
        f"python -m worker_client run {listed.address}",
        "CC BY-SA 4.0",
        "Wikipedia",
        "From 4.0000 in round 1 to 2.0000 in round 3; lowest 2.0000.",
        "Last heartbeat 0\xa0minutes ago",
        "100.0 %",
        "3 / 9",
    ):
        assert text in page
    assert 'd="M0.00 0.00 L50.00 12.00 L100.00 24.00"' in page
    assert f"{listed.verified_at:%b %Y}" in page
    assert "operator@example.org" not in page


def test_a_stale_proof_is_told(client: Client, listed: Coordinator) -> None:
    hidden = '<span class="badge" data-with="stale" hidden>verification stale</span>'
    assert hidden in client.get(LIST).content.decode()
    Coordinator.objects.filter(pk=listed.pk).update(proof=Proof.STALE)
    assert "could not be verified lately" in client.get(listed.get_absolute_url()).content.decode()
    assert hidden.replace(" hidden", "") in client.get(LIST).content.decode()


def test_parts_and_status_have_tags_that_change_with_a_beat(
    client: Client, listed: Coordinator
) -> None:
    urls = [f"{LIST}now?shown=demo", *(f"{LIST}demo/{name}" for name in ("now", "status.json"))]
    tags = {url: client.get(url)["ETag"] for url in urls}
    for url, tag in tags.items():
        unchanged = client.get(url, headers={"If-None-Match": tag})
        assert (unchanged.status_code, unchanged.content, unchanged["ETag"]) == (304, b"", tag)
        several = client.get(url, headers={"If-None-Match": f'"other", {tag}'})
        assert several.status_code == client.head(url, headers={"If-None-Match": "*"}).status_code
        assert several.status_code == 304
    receive(listed, Beat(1, "acik", round=1, rounds=2, workers=3))
    for url, tag in tags.items():
        changed = client.get(url, headers={"If-None-Match": tag})
        assert changed.status_code == 200 and changed["ETag"] != tag


def test_status_json(client: Client, listed: Coordinator) -> None:
    receive(listed, Beat(1, "acik", round=1, rounds=2, workers=3, loss=2.5, software="m/1"))
    answer = client.get(f"{LIST}demo/status.json")
    assert answer["Access-Control-Allow-Origin"] == "*"
    status = answer.json()
    assert status.pop("verified_at") and status.pop("heartbeat_at")
    assert status == {
        "slug": "demo", "name": "Demo", "address": listed.address, "proof": "verified",
        "presence": "online", "status": "acik", "round": 1, "rounds": 2, "workers": 3,
        "loss": 2.5, "software": "m/1", "uptime_90_days": 1.0,
    }  # fmt: skip


def test_badges(client: Client, listed: Coordinator) -> None:
    assert "never heard from" in client.get(f"{LIST}demo/badge.svg").content.decode()
    receive(listed, Beat(1, "acik", round=1, rounds=2))
    image = client.get(f"{LIST}demo/badge.svg")
    assert image["Content-Type"] == "image/svg+xml"
    assert "<title>modelen: online · round 1/2</title>" in image.content.decode()
    assert set(image["Vary"].split(", ")) == {"Accept-Language", "Cookie"}
    shields = client.get(f"{LIST}demo/shields.json").json()
    assert (shields["schemaVersion"], shields["message"]) == (1, "online · round 1/2")


@pytest.mark.needs("gettext")
@pytest.mark.parametrize(
    ("wanted", "message"), [("tr", "çevrimiçi"), ("en", "online"), ("x", "online")]
)
def test_a_badge_speaks_as_asked(
    client: Client, listed: Coordinator, wanted: str, message: str
) -> None:
    receive(listed, Beat(1, "acik"))
    assert client.get(f"{LIST}demo/shields.json", {"lang": wanted}).json()["message"] == message
    assert message in client.get(f"{LIST}demo/badge.svg", {"lang": wanted}).content.decode()


def test_feeds(client: Client, three: list[Coordinator]) -> None:
    new = client.get(f"{LIST}feed.atom").content.decode()
    assert new.index("100%_mixed") < new.index("Nordic") < new.index("Işık")
    rounds = client.get(f"{LIST}nordic/feed.atom").content.decode()
    assert "Round 2: loss 3.2500" in rounds and "#round-2" in rounds


def test_pages_neither_repeat_nor_skip(client: Client, operator: User, admin: User) -> None:
    slugs = {make_listed(operator, admin, f"c{number:02}").slug for number in range(26)}
    first, second = shown(client, q="c"), shown(client, q="c", page="2")
    assert len(first) == 18 and {*first, *second} == slugs
    assert "?q=c&amp;page=2" in client.get(LIST, {"q": "c"}).content.decode()


READ_BY_ALL = (
    "/",
    "/coordinators/",
    "/coordinators/?q=news&presence=online&sort=workers&page=3",
    "/coordinators/?language=tr&mode=cpt&sort=name",
    "/coordinators/now",
    "/coordinators/feed.atom",
    "/coordinators/c1/",
    "/coordinators/c1/now",
    "/coordinators/c1/feed.atom",
    "/coordinators/c1/status.json",
    "/api/v1/directory?search=news",
    "/api/v1/directory/c1",
)


def queries_of(client: Client, path: str) -> int:
    """How many it takes to answer a first visitor."""
    cache.clear()
    with CaptureQueriesContext(connection) as queries:
        assert client.get(path).status_code == 200
    return len(queries)


def test_the_number_of_queries_does_not_grow(client: Client, db: None) -> None:
    taken = []
    for count in (20, 10_000):
        Coordinator.objects.all().delete()
        fill(count)
        coordinator = Coordinator.objects.get(slug="c1")
        for number in range(1, count // 500 + 4):
            receive(coordinator, Beat(number, "acik", round=number, rounds=99, loss=1.0))
        taken.append({path: queries_of(client, path) for path in READ_BY_ALL})
    few, many = taken
    assert many == few
    assert max(many.values()) <= 4


@pytest.mark.parametrize("language", ["en", "tr"])
def test_home_shows_some_of_the_directory(
    client: Client, three: list[Coordinator], language: str
) -> None:
    page = client.get("/", headers={"Accept-Language": language}).content.decode()
    assert page.index("Nordic") < page.index("100%_mixed") < page.index("Işık")
    assert "/coordinators/nordic/" in page
