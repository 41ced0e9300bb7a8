"""Freely licensed text in five languages, out of Debian packages, for models from scratch."""
