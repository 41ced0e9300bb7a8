"""From articles to shards in four steps: ``ingest``, ``tokenizer``, ``pack``, ``shard``.

``clean``, ``quality``, ``language``, ``fingerprint`` and ``judge`` are pure and work on one article
at a time; the steps put them to work on a whole corpus.
"""
