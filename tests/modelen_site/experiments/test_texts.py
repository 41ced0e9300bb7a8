"""Text of an experiment: held out by document, dealt out in equal parts."""

import numpy as np
import pytest

from modelen_site.experiments import texts
from modelen_site.experiments.plan import CATALOGUES, PlanRefused
from modelen_site.experiments.texts import (
    TEST,
    VALIDATION,
    divide,
    part_of,
    prepare_texts,
    read_documents,
)
from tests.modelen_site.experiments.small import ALPHABETS, make_plan, write_text
from worker_client.contract.formats import load_format
from worker_client.data.shard import open_shard


@pytest.fixture
def beside(tmp_path):
    write_text(tmp_path / "text")
    return tmp_path


def rows_of(path, plan):
    return open_shard(path, load_format(plan.format), plan.seq_len, "cpt").input_ids


def test_no_document_is_on_two_sides(beside):
    plan = make_plan()
    documents = read_documents(plan.text, beside)
    made = prepare_texts(plan, documents, beside / "made")
    for number, files in (
        (VALIDATION, [made.validation]),
        (TEST, made.test.values()),
        (None, made.shards(2, "equal")),
    ):
        said = b"".join(bytes(rows_of(path, plan)[rows_of(path, plan) < 256]) for path in files)
        for language in ALPHABETS:
            for text in documents[language]:
                if part_of(text) in (VALIDATION, TEST) and part_of(text) != number:
                    assert bytes_as_ids(text[:60]) not in said


def bytes_as_ids(text):
    """The byte tokens' ids of printable ASCII."""
    from worker_client.models.seeded_base import byte_alphabet

    order = {character: number for number, character in enumerate(byte_alphabet())}
    return bytes(order["Ġ" if character == " " else character] for character in text)


def test_the_same_text_gives_the_same_bytes(beside):
    plan = make_plan()
    documents = read_documents(plan.text, beside)
    one, other = (prepare_texts(plan, documents, beside / name) for name in ("one", "other"))
    for path in sorted(one.folder.rglob("*.*")):
        assert path.read_bytes() == (other.folder / path.relative_to(one.folder)).read_bytes()


def test_what_is_there_is_not_tokenised_again(beside, monkeypatch):
    plan, documents = make_plan(), read_documents(make_plan().text, beside)
    first = prepare_texts(plan, documents, beside / "made")
    monkeypatch.delattr(texts, "_split")
    more = make_plan(arms=[{"name": "arm", "kind": "diloco", "clients": [2, 4]}])
    again = prepare_texts(more, documents, beside / "made")
    assert again == first and len(again.shards(4, "equal")) == 4


def test_a_tokenizer_is_made_from_what_is_trained_on(beside):
    plan = make_plan(
        text={"source": "text", "languages": ["aa"], "vocabulary": 300, "held_out_rows": 1}
    )
    made = prepare_texts(plan, read_documents(plan.text, beside), beside / "made")
    bytewise = make_plan(text={"source": "text", "languages": ["aa"], "held_out_rows": 1})
    whole = prepare_texts(bytewise, read_documents(plan.text, beside), beside / "bytes")
    assert made.train_tokens < whole.train_tokens


def languages(count, rows=16):
    return [np.full((rows, 4), number) + np.arange(rows)[:, None] * 100 for number in range(count)]


@pytest.mark.parametrize("clients", [1, 2, 4, 8])
@pytest.mark.parametrize("division", ["equal", "language"])
def test_every_row_goes_to_one_client_and_all_have_as_many(clients, division):
    parts = divide(languages(4), clients, division)
    assert len(parts) == clients and len({len(rows) for rows in parts}) == 1
    dealt = [tuple(row) for rows in parts for row in rows]
    assert len(set(dealt)) == len(dealt) == 64


def test_one_language_each():
    parts = divide(languages(4), 8, "language")
    assert [set(rows[:, 0] % 100) for rows in parts] == [{n % 4} for n in range(8)]
    mixed = divide(languages(4), 2, "equal")
    assert all(set(rows[:, 0] % 100) == {0, 1, 2, 3} for rows in mixed)


def test_catalogues_are_text_of_many_languages(tmp_path):
    text = make_plan(text={"source": CATALOGUES, "languages": ["tr", "de"]}).text
    found = read_documents(text, tmp_path)
    assert all(len(documents) > 500 for documents in found.values())


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ({"source": "text", "languages": ["cc"]}, "has no cc.jsonl"),
        ({"source": "text", "languages": ["aa"], "held_out_rows": 4000}, "fewer|held_out_rows"),
    ],
)
def test_too_little_text_is_refused(beside, text, told):
    plan = make_plan(text=text)
    with pytest.raises(PlanRefused, match=told):
        prepare_texts(plan, read_documents(plan.text, beside), beside / "made")
