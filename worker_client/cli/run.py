"""``run``: work for a coordinator."""

import argparse
from contextlib import ExitStack
from ipaddress import ip_address
from pathlib import Path

from worker_client.cli.exits import HELP, Exit
from worker_client.cli.parsing import (
    add_coordinator,
    add_models_dir,
    name_argument,
    new_parser,
    positive_float,
    positive_int,
    size_argument,
)
from worker_client.client.faults import Final, ProtocolBroken
from worker_client.client.link import Link
from worker_client.client.patience import Backoff, Patience
from worker_client.contract.addresses import AddressRefused, check_base_url
from worker_client.contract.errors import Refusal
from worker_client.contract.wire import Job
from worker_client.display import events
from worker_client.display.screens import Display, open_display
from worker_client.loop.limits import ALL_JOBS, JOBS, DiskShort, Limits, TaskRefused
from worker_client.loop.registration import Identity
from worker_client.loop.stop import StopSignals
from worker_client.loop.task import Bench, Totals
from worker_client.loop.trainer import Trainer, TrainerBroken, TrainerSettings
from worker_client.loop.worker import Hopeless, Worker
from worker_client.state.folder import CoordinatorState, default_state_dir, own_name
from worker_client.state.lock import StateBusy

EXITS: dict[type[Exception], Exit] = {
    TaskRefused: Exit.REFUSED,
    ProtocolBroken: Exit.REFUSED,
    Final: Exit.FAILED,
    Hopeless: Exit.FAILED,
    TrainerBroken: Exit.COMPUTER,
    DiskShort: Exit.COMPUTER,
    StateBusy: Exit.BUSY,
    OSError: Exit.COMPUTER,
}
JOB_NAMES = {job.name.lower(): job for job in ALL_JOBS}
REMEDIES = {
    Refusal.NAME_TAKEN.code: "; choose another with --name",
    Refusal.TOKEN_REQUIRED.code: (
        "; leave out --no-register, or choose another with --name if it is not yours"
    ),
    Refusal.STATE_COPIED.code: (
        "; work on each computer with a state folder of its own: here, start again with a new "
        "--state-dir and another --name; if this is the only one (its folder came from a backup), "
        "add --take-over"
    ),
}


def add_parser(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    example = "run https://example.org/c/tr-wiki --threads 4"
    parser = new_parser(commands, "run", "work for a coordinator until its run is over", example)
    parser.epilog = f"{parser.epilog}\n\n{HELP}"
    add_coordinator(parser)
    _add_identity(parser)
    parser.add_argument(
        "--threads", type=positive_int, metavar="N", help="CPU threads to train with"
    )
    parser.add_argument(
        "--device", default="auto", metavar="NAME", help="auto (default), cpu, cuda or cuda:N"
    )
    add_models_dir(parser)
    parser.add_argument(
        "--data", type=Path, metavar="FILE", help="your own shard, for runs that send no data"
    )
    parser.add_argument(
        "--tasks", type=positive_int, metavar="N", help="stop after N accepted results"
    )
    parser.add_argument(
        "--json", action="store_true", help="one JSON object per line, for programs"
    )
    parser.add_argument(
        "--source-address",
        type=address_argument,
        metavar="IP",
        help="connect from this address of the computer, where it has several",
    )
    parser.add_argument(
        "--jobs",
        nargs="+",
        type=job_argument,
        default=list(JOBS),
        metavar="JOB",
        help=f"what to do, of {', '.join(JOB_NAMES)} (default: all but preprocess); a computer "
        "without a graphics card is of use with: --jobs verify evaluate. preprocess cleans and "
        "tokenises text: it is not among the defaults, since it stores other people's text here "
        "for a while, and the run's admin has to let you see it",
    )
    _add_caps(parser)
    parser.set_defaults(execute=execute)


def _add_identity(parser: argparse.ArgumentParser) -> None:
    """Who works, see ``Identity``."""
    parser.add_argument(
        "--name",
        type=name_argument,
        help="pseudonym: 3 to 32 of a-z 0-9 - _ (default: a made-up one, kept)",
    )
    parser.add_argument(
        "--no-register",
        dest="register",
        action="store_false",
        help="work without owning the name; such work earns no trust and no receipts",
    )
    parser.add_argument(
        "--take-over",
        action="store_true",
        help="go on with a state folder from a backup; a computer that has a newer one is refused",
    )
    parser.add_argument(
        "--leaderboard",
        action=argparse.BooleanOptionalAction,
        help="stand on the run's public leaderboard, or not (default: as chosen before; first yes)",
    )


def _add_caps(parser: argparse.ArgumentParser) -> None:
    caps, usual = parser.add_argument_group("your caps"), Limits()
    caps.add_argument(
        "--max-hours",
        type=positive_float,
        default=usual.hours,
        metavar="H",
        help="longest training of one task (default: %(default)s)",
    )
    caps.add_argument(
        "--max-disk",
        type=size_argument,
        default=usual.disk_bytes,
        metavar="SIZE",
        help="most space in the state folder (default: 20G)",
    )
    caps.add_argument(
        "--max-transfer",
        type=size_argument,
        default=usual.transfer_bytes,
        metavar="SIZE",
        help="most bytes up and down for one task (default: 4G)",
    )


def job_argument(text: str) -> Job:
    """A job by its English or its wire name."""
    try:
        return JOB_NAMES.get(text) or Job(text)
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"{text[:40]!r} is no job; choose from {', '.join(JOB_NAMES)}"
        ) from None


def address_argument(text: str) -> str:
    try:
        return str(ip_address(text))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text[:60]!r} is no IP address") from None


def execute(args: argparse.Namespace) -> Exit:
    display = open_display(args.json)
    totals = Totals()
    try:
        return _run(args, display, totals)
    finally:
        display.close()


def _run(args: argparse.Namespace, display: Display, totals: Totals) -> Exit:
    try:
        reason = _work(args, display, totals)
    except AddressRefused as error:
        display.show(events.Error("address", str(error), fatal=True))
        return Exit.USAGE
    except tuple(EXITS) as error:
        code = getattr(error, "code", "") or type(error).__name__
        message = f"{error}{REMEDIES.get(code, '')}"
        display.show(events.Error(code, message, fatal=True))
        display.show(totals.finished("error"))
        return _status(error)
    display.show(totals.finished(reason))
    return Exit.OK


def _status(error: Exception) -> Exit:
    return next(status for kind, status in EXITS.items() if isinstance(error, kind))


def _work(args: argparse.Namespace, display: Display, totals: Totals) -> str:
    base_url = check_base_url(args.url, allow_http=args.allow_http)
    if args.data is not None and not args.data.is_file():
        raise FileNotFoundError(f"--data {args.data} is no file")
    root = args.state_dir or default_state_dir()
    with ExitStack() as stack:
        state = stack.enter_context(CoordinatorState(root, base_url))
        stop = stack.enter_context(StopSignals()).requested
        link = Link(base_url, totals.traffic, args.source_address or "")
        stack.callback(link.close)
        patience = Patience(
            Backoff(state),
            stop,
            lambda reason, seconds: display.show(events.Waiting(round(seconds, 3), reason)),
        )
        settings = TrainerSettings(args.models_dir, args.device, args.threads)
        trainer = Trainer(settings, state.trainer_log, patience.check_stop)
        stack.callback(trainer.close)
        bench = Bench(
            link=link,
            patience=patience,
            state=state,
            trainer=trainer,
            display=display,
            totals=totals,
            limits=Limits(
                args.max_hours, args.max_disk, args.max_transfer, tuple(dict.fromkeys(args.jobs))
            ),
            own_data=args.data,
        )
        name = args.name or own_name(root)
        identity = Identity(
            name, str(state.folder), args.register, args.leaderboard, args.take_over
        )
        return Worker(bench, identity, args.tasks).run()
