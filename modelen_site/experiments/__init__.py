"""``manage.py experiment FILE``: a grid of ways to train one model, from a file to a report.

What is trained, merged and encoded is the platform's own code, either through a real server and
real workers (``real.py``) or in one process on files (``simulate.py``).
"""
