"""A standalone Spark cluster on this machine whose parts can be killed, and faults for what runs in it.

Each machine of the cluster is a group of processes: a master, a worker with its executors and their Python processes, or a driver. All
processes of a machine carry its name in their environment, wherever they hang in the tree of processes, and so are found and killed.

The same file runs as the driver (`main`) and is loaded by the executors' Python processes (`add_faults`). A test tells these what to do
by files in a folder of faults. They pass the points "begun", when a task has written its first rows, "staged", when its files are
complete and Spark does not know, and "numbered", when the lines in quarantine have their numbers and Spark does not know:

    hold-<point>            all who reach the point wait while the file is there
    stall-<point>           the first who reaches the point takes the file away, and waits for ever
    fail-<point>            every task fails there, once
    reached-<point>/        who has been there: a file for each time
    version                 the version of varquet that executors pretend to have
"""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

__all__ = ["Cluster", "Driver", "Faults", "Machine", "Reached", "wait_for"]

_TESTS = Path(__file__).parent
_MACHINE = "VARQUET_TEST_MACHINE"
_FAULTS = "VARQUET_TEST_FAULTS"
_LONGEST = 180.0


def wait_for(what: str, condition: Callable[[], Any], log: Path | None = None) -> Any:
    """What a condition gives when it holds; it is asked again and again, for as long as a busy machine may take."""
    end = time.monotonic() + _LONGEST
    while not (found := condition()):
        if time.monotonic() > end:
            raise TimeoutError(f"expected {what}, got nothing of it in {_LONGEST:.0f} s{_tail(log)}")
        time.sleep(0.05)
    return found


def _tail(log: Path | None) -> str:
    return "" if log is None else f"; the end of {log}:\n{log.read_text(errors='replace')[-6000:]}"


@dataclass(frozen=True, slots=True)
class Process:
    """A process as Linux shows it."""

    pid: int
    machine: str
    command: str


def _processes(cluster: str) -> list[Process]:
    """All processes of a cluster; those that have ended and are not buried yet have no environment, and are not among them."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            variables = (entry / "environ").read_bytes().split(b"\0")
            command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        for variable in variables:
            name, _, machine = variable.decode(errors="replace").partition("=")
            if name == _MACHINE and machine.startswith(f"{cluster}/"):
                found.append(Process(int(entry.name), machine, command))
    return found


class Machine:
    """Processes that live and die together."""

    def __init__(self, cluster: Cluster, name: str, command: list[str], **environment: str) -> None:
        self.cluster = cluster
        self.name = f"{cluster.token}/{name}"
        self.log = cluster.folder / f"{name}.log"
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(
                command,
                env={**cluster.environment, **environment, _MACHINE: self.name},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=cluster.folder,
                start_new_session=True,
            )
        cluster.machines.append(self)

    def processes(self) -> list[Process]:
        """Those that are there now."""
        return [process for process in _processes(self.cluster.token) if process.machine == self.name]

    def kill(self) -> None:
        """Pull the plug: no process is told, none is left."""

        def is_dead() -> bool:
            found = sorted(self.processes(), key=lambda process: process.pid != self.process.pid)
            for process in found:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process.pid, signal.SIGKILL)
            return not found

        wait_for(f"no process of {self.name}", is_dead)
        self.process.wait()


@dataclass(frozen=True, slots=True)
class Reached:
    """A task was at a point."""

    task: int
    pid: int


@dataclass(frozen=True, slots=True)
class Faults:
    """The folder by which a test says what executors do, and sees what they have done."""

    folder: Path

    def set(self, name: str, text: str = "") -> None:
        """Let something happen."""
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / name).write_text(text)

    def clear(self, name: str) -> None:
        """Let it happen no more."""
        (self.folder / name).unlink()

    def reached(self, point: str) -> list[Reached]:
        """Who has been at a point so far, one entry for each time."""
        above = self.folder / f"reached-{point}"
        names = [path.name.split(".") for path in above.iterdir()] if above.is_dir() else []
        return [Reached(int(task), int(pid)) for task, pid, _ in names]

    def tries(self, point: str, task: int) -> int:
        """How many times a task has been at a point."""
        return sum(one.task == task for one in self.reached(point))

    def pass_by(self, point: str, task: int) -> None:
        """A task reaches a point: it waits there, or fails, if it is to. This is for executors."""
        above = self.folder / f"reached-{point}"
        above.mkdir(parents=True, exist_ok=True)
        (above / f"{task}.{os.getpid()}.{time.monotonic_ns()}").touch()
        if _is_ours(self.folder / f"stall-{point}"):
            while True:
                time.sleep(0.05)
        while (self.folder / f"hold-{point}").exists():
            time.sleep(0.05)
        if (self.folder / f"fail-{point}").exists():
            with contextlib.suppress(FileExistsError):
                (self.folder / f"failed-{point}-{task}").touch(exist_ok=False)
                raise RuntimeError(f"task {task} fails at the point {point!r}, as it was told to")


def _is_ours(path: Path) -> bool:
    """Whether nobody else has taken a file away before."""
    try:
        path.unlink()
    except FileNotFoundError:
        return False
    return True


def add_faults() -> None:
    """In the daemon from which Spark forks its Python workers: let them do what the faults say."""
    import varquet
    from varquet.tables import write_job
    from varquet.tables.writing import TableWriter

    faults = Faults(Path(os.environ[_FAULTS]))
    written, closed, numbered = TableWriter.write, TableWriter.close, write_job.number_lines

    def write(self: TableWriter, batch: Any) -> None:
        written(self, batch)
        faults.pass_by("begun", int(self.label.split("-")[1]))

    def close(self: TableWriter) -> Any:
        files = closed(self)
        faults.pass_by("staged", int(self.label.split("-")[1]))
        return files

    def number_lines(folder: Any, file: Any, before: Any) -> None:
        numbered(folder, file, before)
        faults.pass_by("numbered", int(Path(file.path).name.split("-")[1]))

    TableWriter.write, TableWriter.close, write_job.number_lines = write, close, number_lines  # type: ignore[method-assign]
    version = faults.folder / "version"
    if version.exists():
        varquet.__version__ = version.read_text()


class Driver(Machine):
    """A driver that runs `ingest` in processes of its own."""

    def __init__(self, cluster: Cluster, name: str, orders: dict[str, Any]) -> None:
        self.answer = cluster.folder / f"{name}.json"
        super().__init__(cluster, name, [sys.executable, __file__, json.dumps({**orders, "answer": str(self.answer)})])

    def wait(self) -> int:
        """Until it has ended, and all of its processes; how it has."""
        wait_for(f"the end of {self.name}", lambda: self.process.poll() is not None and not self.processes(), self.log)
        return self.process.returncode

    def report(self) -> dict[str, Any]:
        """What `ingest` has given, or the error that it has raised."""
        code = self.wait()
        assert code == 0, f"expected {self.name} to end well, got {code}{_tail(self.log)}"
        answer: dict[str, Any] = json.loads(self.answer.read_text())
        return answer


@dataclass(slots=True)
class Cluster:
    """A master and its workers. Each worker has one core and one executor."""

    folder: Path
    token: str = field(default_factory=lambda: secrets.token_hex(8))
    environment: dict[str, str] = field(default_factory=dict)
    master: Machine | None = None
    workers: list[Machine] = field(default_factory=list)
    machines: list[Machine] = field(default_factory=list)
    """All that have ever been started, drivers too."""
    ports: tuple[int, int] = (0, 0)
    started: int = 0

    def __post_init__(self) -> None:
        import pyspark

        home = Path(pyspark.__file__).parent
        for name in ("conf", "local", "work", "site"):
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        (self.folder / "site" / "sitecustomize.py").write_text("import spark_cluster\n\nspark_cluster.add_faults()\n")
        self.environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith(("SPARK_", "PYSPARK_"))},
            "SPARK_HOME": str(home),
            "SPARK_CONF_DIR": str(self.folder / "conf"),
            "SPARK_LOCAL_DIRS": str(self.folder / "local"),
            "SPARK_WORKER_DIR": str(self.folder / "work"),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "PYSPARK_PYTHON": sys.executable,
            # Two cores for many processes: none of them compiles or collects garbage with more threads than it needs.
            "SPARK_DAEMON_MEMORY": "256m",
            "SPARK_DAEMON_JAVA_OPTS": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1",
        }

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self, workers: int) -> None:
        """Start what is missing, so that so many workers are registered with the master."""
        if self.master is None:
            self.ports = _free_port(), _free_port()
            port, page = map(str, self.ports)
            self.master = self._part("master", "master.Master", "--host", "127.0.0.1", "--port", port, "--webui-port", page)
            wait_for("an answer of the master", self.state, self.master.log)
        self.workers = [worker for worker in self.workers if worker.process.poll() is None]
        size = ("--cores", "1", "--memory", "1g")
        while len(self.workers) < workers:
            self.started += 1
            # An address for each: Spark tries a slow task again only on another host.
            host = f"127.0.0.{self.started + 1}"
            worker = self._part(f"worker-{self.started}", "worker.Worker", "--host", host, "--webui-port", "0", *size, self.url)
            self.workers.append(worker)
        wait_for(f"{workers} workers that have registered", lambda: self.living_workers() == workers, self.workers[-1].log)

    def _part(self, name: str, kind: str, *arguments: str) -> Machine:
        return Machine(
            self, name, [str(Path(self.environment["SPARK_HOME"]) / "bin" / "spark-class"), f"org.apache.spark.deploy.{kind}", *arguments]
        )

    @property
    def url(self) -> str:
        """The address for drivers."""
        return f"spark://127.0.0.1:{self.ports[0]}"

    def state(self) -> dict[str, Any]:
        """What the master knows; nothing if it does not answer yet."""
        connection = http.client.HTTPConnection("127.0.0.1", self.ports[1], timeout=30)
        try:
            connection.request("GET", "/json/")
            answer = connection.getresponse()
            return dict(json.loads(answer.read())) if answer.status == 200 else {}
        except (OSError, http.client.HTTPException, ValueError):
            return {}
        finally:
            connection.close()

    def living_workers(self) -> int:
        """How many workers the master counts on."""
        return sum(worker["state"] == "ALIVE" for worker in self.state().get("workers", []))

    def executors(self) -> list[Process]:
        """The processes of executors, their Python processes among them."""
        return [one for one in _processes(self.token) if "CoarseGrainedExecutorBackend" in one.command or "pyspark.daemon" in one.command]

    def machine_of(self, pid: int) -> Machine:
        """The worker that a process belongs to."""
        (name,) = [process.machine for process in _processes(self.token) if process.pid == pid]
        (worker,) = [worker for worker in self.workers if worker.name == name]
        return worker

    def ingest(self, name: str, *arguments: Any, faults: Faults, master: str | None = None, conf: dict[str, str] | None = None,
               dies_after_moves: int | None = None, **options: Any) -> Driver:  # fmt: skip
        """Start a driver that ingests; with another master it does so without the cluster."""
        settings = {
            "spark.executorEnv.PYTHONPATH": os.pathsep.join([str(self.folder / "site"), str(_TESTS), os.environ.get("PYTHONPATH", "")]),
            f"spark.executorEnv.{_FAULTS}": str(faults.folder),
            "spark.executor.memory": "512m",
            "spark.driver.memory": "512m",
            "spark.executor.extraJavaOptions": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1",
            "spark.driver.extraJavaOptions": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1",
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            "spark.sql.warehouse.dir": str(self.folder / "warehouse"),
            **(conf or {}),
        }
        orders = {"master": master or self.url, "conf": settings, "arguments": arguments, "options": options, "moves": dies_after_moves}
        return Driver(self, name, orders)

    def kill_drivers(self) -> None:
        """Leave no driver, which would keep the cores of the workers."""
        for machine in self.machines:
            if isinstance(machine, Driver) and machine.process.poll() is None:
                machine.kill()

    def stop(self) -> None:
        """Leave no process, whoever has started it."""

        def is_over() -> bool:
            found = _processes(self.token)
            for process in found:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process.pid, signal.SIGKILL)
            return not found

        wait_for("no process of the cluster", is_over)
        for machine in self.machines:
            machine.process.wait()


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def _die_after(moves: int) -> None:
    """Let this process be killed when it has moved so many files of a commit."""
    from varquet.parquet.folder import Folder

    move, moved = Folder.move, [0]

    def counted(self: Folder, path: str, target: str) -> bool:
        found = move(self, path, target)
        moved[0] += 1
        if moved[0] == moves:
            os.kill(os.getpid(), signal.SIGKILL)
        return found

    Folder.move = counted  # type: ignore[method-assign]


def main(orders: dict[str, Any]) -> None:
    """The driver: one session, one `ingest`."""
    from pyspark.sql import SparkSession

    from varquet import spark as vqs
    from varquet.errors import VarquetError

    builder = SparkSession.builder.master(orders["master"]).appName("varquet")
    for name, value in orders["conf"].items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    try:
        if orders["moves"] is not None:
            _die_after(orders["moves"])
        answer = vqs.ingest(session, *orders["arguments"], **orders["options"]).to_dict()
    except VarquetError as error:
        answer = {"error": type(error).__name__, "message": str(error)}
    Path(orders["answer"]).write_text(json.dumps(answer))
    session.stop()


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
