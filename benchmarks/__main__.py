"""``python -m benchmarks``: run every benchmark; the exit code is 1 when any missed a bar."""

import subprocess
import sys

BENCHMARKS = ("merge", "directory")


def main() -> int:
    codes = [subprocess.call([sys.executable, "-m", f"benchmarks.{name}"]) for name in BENCHMARKS]
    return 1 if any(codes) else 0


if __name__ == "__main__":
    sys.exit(main())
