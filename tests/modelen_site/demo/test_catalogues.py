from pathlib import Path

from modelen_site.demo.catalogues import LEAST_WORDS, read_messages


def test_sentences_of_installed_packages_in_both_languages() -> None:
    messages = read_messages()

    sentences = {message.english: message.translation for message in messages}
    assert sentences["Enter a valid email address."] == "Geçerli bir e-posta adresi girin."
    assert messages == sorted(set(messages))
    assert all(len(text.split()) >= LEAST_WORDS for message in messages for text in message)
    assert not any("<" in text for message in messages for text in message)


def test_entries_over_several_lines_escapes_and_comments(tmp_path: Path) -> None:
    from modelen_site.demo.catalogues import _read

    path = tmp_path / "django.po"
    path.write_text(
        "# translators\n"
        'msgctxt "a page"\n'
        'msgid ""\n"Say \\"yes\\" "\n"or no"\n'
        'msgstr "Evet ya da hayır"\n\n'
        '#~ msgid "gone"\n#~ msgstr "gitti"\n\n'
        'msgid "one day"\nmsgid_plural "%d days"\nmsgstr[0] "bir gün"\n',
        "utf-8",
    )

    assert list(_read(path)) == [
        ('Say "yes" or no', "Evet ya da hayır"),
        ("", ""),
        ("one day", ""),
    ]
