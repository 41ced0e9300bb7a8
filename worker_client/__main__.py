"""``python -m worker_client``: see ``worker_client.cli``."""

import sys

from worker_client.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
