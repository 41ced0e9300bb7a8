"""One article at a time: what normalising changes, and who is left out why."""

import pytest

from tests.worker_client.corpus.texts import BY_HAND, article, line
from worker_client.corpus.clean import normalise
from worker_client.corpus.fingerprint import fingerprint, shingles, similarity, words
from worker_client.corpus.judge import Dropped, Kept, judge
from worker_client.corpus.quality import Reason, Rules
from worker_client.data.article import Article, read_article

LONG = BY_HAND["en"][1]


@pytest.mark.parametrize(
    ("raw", "clean"),
    [
        ("e\u0301", "é"),
        ("a\r\nb\rc\u2028d\x0be", "a\nb\nc\nd\ne"),
        ("a \t\u00a0\u3000b", "a b"),
        ("  a  \n  \n \n\n b ", "a\n\nb"),
        ("so\u00adft\u200b\ufeff \x00\x1b[1mx\x9f", "soft [1mx"),
        ("\u202eevil", "evil"),
        ("half \ud800 a pair", "half a pair"),
        ("می\u200cخواهم", "می\u200cخواهم"),
        ("İstanbul ığüşöç", "İstanbul ığüşöç"),
    ],
)
def test_text_is_written_in_one_way(raw, clean):
    assert normalise(raw) == clean
    assert normalise(clean) == clean


def test_heaps_of_marks_are_cut_before_they_are_sorted():
    """Sorting these two million would take days."""
    clean = normalise("a" + "\u0301\u0327" * 10**6 + "b")
    assert len(clean) <= 32 and clean[-1] == "b"


@pytest.mark.parametrize("language", BY_HAND)
def test_good_articles_are_kept_as_they_are(language):
    verdict = judge(line(article(language, category="Sea")), Rules(min_characters=100))
    assert isinstance(verdict, Kept)
    assert verdict.article == Article(
        *BY_HAND[language][:1], "", "Sea", BY_HAND[language][1], language
    )


@pytest.mark.parametrize("language", BY_HAND)
def test_a_missing_language_is_found(language):
    row = {"body": BY_HAND[language][1]}
    assert judge(line(row), Rules(min_characters=100)).article.language == language


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ({"title": "no body"}, Reason.UNREADABLE),
        ({"body": 5}, Reason.UNREADABLE),
        ({"body": LONG, "title": ["a"]}, Reason.UNREADABLE),
        ([1, 2], Reason.UNREADABLE),
        ({"body": "Too short."}, Reason.SHORT),
        ({"body": LONG.replace("a", "\ufffd")}, Reason.DAMAGED),
        ({"body": "0x7f 1024 == 88 ## 17 -- " * 20}, Reason.FEW_LETTERS),
        ({"body": "dGhlIHNhbWUgd29yZHM" * 20}, Reason.LONG_WORDS),
        ({"body": "The same line again and again.\n" * 20}, Reason.REPETITIVE),
        ({"body": "the same few words over and over " * 20}, Reason.REPETITIVE),
        (article("en", language="de"), Reason.OTHER_LANGUAGE),
        (article("fr"), Reason.UNWANTED_LANGUAGE),
    ],
)
def test_what_is_left_out_says_why(row, reason):
    verdict = judge(line(row), Rules(languages=("de", "en")))
    assert isinstance(verdict, Dropped)
    assert verdict.reason == reason


@pytest.mark.parametrize("raw", [b"{", b"\xff\xfe", b"[" * 100_000, b'"text"', b"null"])
def test_what_is_no_json_object_is_unreadable(raw):
    assert judge(raw, Rules()) == Dropped(Reason.UNREADABLE, "und")


@pytest.mark.parametrize("tag", ["../../etc", "", "x", "deutsch", "d e", "1"])
def test_a_language_is_a_code_or_unknown(tag):
    assert read_article(line({"body": "a", "language": tag})).language == "und"


@pytest.mark.parametrize("tag", ["de", "DE", "de-AT", "de_CH.UTF-8"])
def test_a_language_is_told_without_its_region(tag):
    assert read_article(line({"body": "a", "language": tag})).language == "de"


def test_a_summary_cut_out_of_the_body_is_read_once():
    assert Article("T", "First.", "", "First. Second.", "en").text == "T\n\nFirst. Second."
    assert Article("T", "In short.", "", "First.", "en").text == "T\n\nIn short.\n\nFirst."


def alike(one: str, other: str) -> float:
    first, second = (fingerprint(found, shingles(found)) for found in (words(one), words(other)))
    return similarity(first.signature, second.signature)


@pytest.mark.parametrize("language", BY_HAND)
def test_signatures_estimate_how_much_two_texts_share(language):
    text = BY_HAND[language][1]
    changed = text[:100] + text[105:]
    one, other = ({*shingles(words(part))} for part in (text, changed))
    truth = len(one & other) / len(one | other)
    assert 0.5 < truth < 1
    assert alike(text, changed) == pytest.approx(truth, abs=0.15)
    assert alike(text, text.upper() if language != "tr" else text) == 1


def test_texts_with_nothing_in_common_share_nothing():
    assert alike(BY_HAND["de"][1], BY_HAND["fr"][1]) < 0.05
