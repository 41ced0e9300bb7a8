"""Published experiments on the site."""

import json
import subprocess
import sys

import pytest
from django.test import Client

from modelen_site.experiments.plots import PLOTS
from modelen_site.experiments.publish import REPORT, publish, published, published_folder
from tests.e2e.site import REPO, clean_environment
from tests.modelen_site.experiments.making import make_report, publish_made_up

PAGE = "/experiments/made-up/"

pytestmark = pytest.mark.django_db


def get(path, language="en"):
    return Client().get(path, headers={"Accept-Language": language})


def test_without_any_the_list_says_so():
    assert "No experiment has been published" in get("/experiments/").content.decode()


def test_the_list_leads_to_each():
    publish_made_up()
    answer = get("/experiments/").content.decode()
    assert f'href="{PAGE}"' in answer and "1 / 3" in answer  # bars met


@pytest.mark.parametrize(
    ("language", "words"),
    [
        ("en", ["missed by 0.63 points", "met", "not measured", "1,000,000 tokens", "Too few"]),
        ("tr", ["0,63 puanla kaçırıldı", "tutturuldu", "ölçülmedi", "1.000.000 belirteç"]),
    ],
)  # fmt: skip
def test_the_page_says_what_was_met_and_missed(language, words):
    publish_made_up()
    answer = get(PAGE, language).content.decode()
    assert [word for word in words if word not in answer] == []


def test_every_plot_is_there_in_the_readers_language_with_its_text():
    publish_made_up()
    page = get(PAGE, "tr").content.decode()
    for plot in PLOTS:
        path = f"{PAGE}plots/{plot.name}.svg"
        assert f'src="{path}"' in page
        svg = b"".join(get(path, "tr"))
        assert svg.startswith(b"<?xml") and b"<script" not in svg
        assert svg != b"".join(get(path, "en"))
    assert 'alt="' in page and 'alt=""' not in page.split("<main")[1]


def test_a_plot_opened_by_itself_can_do_nothing():
    publish_made_up()
    answer = get(f"{PAGE}plots/{PLOTS[0].name}.svg")
    assert answer["Content-Type"] == "image/svg+xml"
    assert answer["Content-Security-Policy"].startswith("default-src 'none'")


def test_the_numbers_are_there_as_they_are():
    publish_made_up()
    answer = get(f"{PAGE}report.json")
    assert answer["Content-Type"] == "application/json"
    assert json.loads(answer.content) == json.loads(make_report().model_dump_json())


@pytest.mark.parametrize(
    "path",
    ["/experiments/none/", "/experiments/none/report.json", f"{PAGE}plots/none.svg",
     "/experiments/none/plots/loss-tokens.svg"],
)  # fmt: skip
def test_what_is_not_there_is_not_found(path):
    publish_made_up()
    assert get(path).status_code == 404


def test_publishing_again_replaces_the_earlier_one(tmp_path):
    publish_made_up()
    report = make_report(title="Another", bars=[])
    (tmp_path / REPORT).write_text(report.model_dump_json(), "utf-8")
    publish(tmp_path)
    assert [found.title for found in published()] == ["Another"]
    assert [path.name for path in published_folder().iterdir()] == ["made-up"]
    page = get(PAGE).content.decode()
    assert "<img" not in page.split("<main")[1]  # that one came without plots


def test_what_cannot_be_read_is_left_out(caplog):
    publish_made_up()
    broken = published_folder() / "broken"
    broken.mkdir()
    (broken / REPORT).write_text("{", "utf-8")
    assert [found.name for found in published()] == ["made-up"]
    assert "broken cannot be read" in caplog.text


def test_the_server_needs_neither_torch_nor_matplotlib_for_its_pages():
    code = "import django, sys; django.setup(); import modelen_site.urls; print(*sys.modules)"
    environment = clean_environment() | {"DJANGO_SETTINGS_MODULE": "tests.settings"}
    command = [sys.executable, "-c", code]
    said = subprocess.run(command, cwd=REPO, env=environment, check=True, capture_output=True)
    assert not {"torch", "matplotlib", "tokenizers"} & set(said.stdout.decode().split())
