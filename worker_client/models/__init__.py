"""The volunteer's base models on disk: fetch, add, verify, list, and load.

Verbs, one a module: ``fetch.fetch``, ``add.add``, ``verify.verify``, ``listing.list_models``;
``load.load_base`` and ``load.load_tokenizer`` read what they put in place.
"""
