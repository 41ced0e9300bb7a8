"""All benchmarks, one after the other: ``python -m benchmarks``.

Each runs in a process of its own, so that no memory of one is counted for another.
"""

import subprocess
import sys

BENCHMARKS = (
    "merge",
    "rules",
    "codecs",
    "byzantine --quick",
    "server_memory",
    "kills",
    "faults",
    "fuzz",
    "verification",
    "measures",
    "directory",
    "rounds",
)
VERDICTS = ("PASS", "FAIL", "NOT MEASURED")


def run(name: str) -> tuple[int, list[str]]:
    """Run one benchmark, showing what it prints; its exit status and its verdicts."""
    module, *options = name.split()
    command = [sys.executable, "-u", "-m", f"benchmarks.{module}", *options]
    verdicts = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            print(line, end="", flush=True)
            if line.startswith(VERDICTS):
                verdicts.append(line)
    if process.returncode and not any(line.startswith("FAIL") for line in verdicts):
        verdicts.append(f"FAIL  {name} ended with exit status {process.returncode}\n")
    return process.returncode, verdicts


def main() -> int:
    found = []
    for name in BENCHMARKS:
        print(f"\n=== benchmarks.{name} ===", flush=True)
        found.append(run(name))
    print("\n=== Verdicts ===")
    print("".join(line for _, verdicts in found for line in verdicts), end="")
    return 1 if any(status for status, _ in found) else 0


if __name__ == "__main__":
    sys.exit(main())
