"""The command line: one module per sub-command, each with ``add_parser`` and ``execute``.

Modules import torch only inside the function that needs it, so that ``--help`` is quick.
"""
