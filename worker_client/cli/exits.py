"""Exit statuses, the same for every command."""

from enum import IntEnum


class Exit(IntEnum):
    OK = 0
    FAILED = 1
    USAGE = 2
    REFUSED = 3
    COMPUTER = 4
    BUSY = 5
    INTERRUPTED = 130


HELP = """\
exit status:
  0    done: run over, tasks done, or stopped by one Ctrl-C
  1    the coordinator refuses this worker, task after task went wrong, or a check failed
  2    the command line is wrong
  3    this worker refuses what the coordinator asks (out of range, above your caps, unknown)
  4    this computer cannot: model or device missing, disk full, training process dies
  5    another worker uses the same state folder
  130  ended by a second Ctrl-C"""
