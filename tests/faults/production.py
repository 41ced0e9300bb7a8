"""A site as an operator runs it: server, Celery worker and beat in processes of their own, over
PostgreSQL and Redis; each of them can be killed and started again."""

import secrets
from pathlib import Path

import psycopg

from tests.e2e.site import Program, Site, free_port
from tests.servers import Service, kill_tree

# Power cuts lose what was not synced; a kill only what PostgreSQL had not handed to the system.
DURABLE = ("fsync=off", "synchronous_commit=on")
CELERY = ("-m", "celery", "-A", "modelen_site")


class Production(Site):
    """``parts`` names what runs: ``server``, ``celery``, ``beat`` (``server-2`` and so on for more
    of the same), ``postgresql`` and ``redis``."""

    def __init__(
        self,
        folder: Path,
        database: Service,
        broker: Service,
        parts: tuple[str, ...] = ("server", "celery", "beat"),
        models: Path | None = None,
        **variables: str,
    ) -> None:
        public = {
            "DATABASE_URL": database.url,
            "REDIS_URL": f"{broker.url}/0",
            "MODELEN_SECRET_KEY": secrets.token_urlsafe(50),
            "MODELEN_ALLOWED_HOSTS": "127.0.0.1",
            "MODELEN_HTTPS": "0",
            "MODELEN_RECONCILE_SECONDS": "1",
            "MODELEN_MERGE_CLAIM_SECONDS": "3",
        }
        super().__init__(folder, models, **public | variables)
        self._services = {"postgresql": database, "redis": broker}
        self._running: dict[str, Program] = {}
        self.ports = {part: free_port() for part in parts if part.startswith("server")}
        self.port = self.ports["server"]
        self.parts = (*parts, *self._services)
        self._own = parts

    def start(self) -> Program:
        """Start what runs on this site; returns the first server when it serves."""
        self.manage("migrate", "--verbosity", "0")
        for part in self._own:
            self._launch(part)
        for part in self.ports:
            self._wait_for(part)
        self.server = self._running["server"]
        return self.server

    def start_part(self, part: str) -> None:
        """Start one part again; returns when a server serves, at once for Celery's processes."""
        if part in self._services:
            self._services[part].start()
            return
        self._launch(part)
        if part in self.ports:
            self._wait_for(part)
        self.server = self._running["server"]

    def _launch(self, part: str) -> None:
        command = self._command(part.partition("-")[0], part)
        self._running[part] = self._run(Program, *command)

    def _wait_for(self, part: str) -> None:
        server = self._running[part]
        server.wait_until(lambda: any("Serving on" in line for line in server.lines))

    def _command(self, kind: str, part: str) -> tuple[str, ...]:
        if kind == "server":
            return ("manage.py", "serve", "--port", str(self.ports[part]))
        if kind == "celery":
            return (*CELERY, "worker", "--concurrency", "1", "--hostname", f"{part}@%h")
        return (*CELERY, "beat", "--schedule", str(self.folder / f"{part}-schedule"))

    def kill_part(self, part: str) -> None:
        """SIGKILL to one part and its children."""
        if part in self._services:
            self._services[part].kill()
        else:
            kill_tree(self._running[part].process)

    def rows(self, query: str, *values: object) -> list[tuple]:
        url = self.environment["DATABASE_URL"].replace("postgres://", "postgresql://", 1)
        with psycopg.connect(url) as connection:
            return connection.execute(query.replace("?", "%s"), values).fetchall()
