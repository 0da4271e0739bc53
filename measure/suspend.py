#!/usr/bin/env python3
"""Measures what suspending costs: jobs that know nothing of Heeler share one GPU, by each way of
the ladder and side by side, and their losses are compared with those of undisturbed runs.

Every part stands for itself: one that fails leaves a note and the others go on. Results are
written after each part, and parts of an earlier run in the same folder are kept.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from statistics import median
from typing import Any, Callable

from figures import Log, attempts, markdown, sharing, switches
from server import Server

HERE = os.path.dirname(os.path.abspath(__file__))
# Which model each of the jobs trains, in the order they come.
MODELS = ["small", "convnet", "large"]
# Recipe, way, how many jobs: the most telling first, since time may run out.
PLAN = [
    ("gandiva", "checkpoint", 2),
    ("gandiva", "freeze", 2),
    ("gandiva", "requeue", 2),
    ("fifo", "mps", 2),
    ("tiresias", "checkpoint", 2),
    ("gandiva", "checkpoint", 3),
    ("gandiva", "freeze", 3),
    ("fifo", "mps", 3),
    ("tiresias", "freeze", 2),
    ("tiresias", "checkpoint", 3),
    ("tiresias", "requeue", 2),
    ("tiresias", "freeze", 3),
    ("gandiva", "requeue", 3),
    ("tiresias", "requeue", 3),
]


class Memory(threading.Thread):
    """Reads now and then how much of the GPU's memory is used."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.readings: list[tuple[float, float]] = []
        self._over = threading.Event()

    @staticmethod
    def now() -> float | None:
        words = ["nvidia-smi", "--query-gpu=memory.used", "--format=csv,noheader,nounits"]
        try:
            done = subprocess.run(words, capture_output=True, text=True, timeout=20)
            return float(done.stdout.split()[0])
        except (OSError, IndexError, ValueError, subprocess.TimeoutExpired):
            return None

    def run(self) -> None:
        while not self._over.wait(0.5):
            reading = Memory.now()
            if reading is None:
                return
            self.readings.append((time.time(), reading))

    def end(self, since: float) -> dict[str, float] | None:
        self._over.set()
        self.join(20)
        there = [reading for at, reading in self.readings if at >= since]
        return {"median": median(there), "most": max(there), "least": min(there)} if there else None


class Measurement:
    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.until = time.time() + options.budget
        self.work = tempfile.mkdtemp(prefix="heeler-measure-")
        self.pids: set[int] = set()
        self.path = os.path.join(options.out, "suspending.json")
        os.makedirs(options.out, exist_ok=True)
        self.results: dict[str, Any] = {"notes": []}
        if os.path.exists(self.path):
            with open(self.path) as file:
                self.results = json.load(file)
        self.results["machine"] = self.machine()

    def machine(self) -> dict[str, Any]:
        fields = "--query-gpu=name,driver_version,memory.total"
        words = ["nvidia-smi", fields, "--format=csv,noheader"]
        try:
            gpu = subprocess.run(words, capture_output=True, text=True, timeout=20).stdout.strip()
        except (OSError, subprocess.TimeoutExpired):
            gpu = "no GPU"
        asks = [self.options.python, "-c", "import torch; print(torch.__version__)"]
        torch = subprocess.run(asks, capture_output=True, text=True).stdout.strip() or "none"
        jobs = "stand-ins on the CPU" if self.options.fake else "PyTorch"
        return {"gpu": gpu or "no GPU", "torch": torch, "cpus": os.cpu_count(), "jobs": jobs}

    def left(self) -> float:
        return self.until - time.time()

    def part(self, name: str, run: Callable[[], None], need: float = 15.0) -> None:
        if self.options.parts and not any(name.startswith(p) for p in self.options.parts):
            return
        if self.left() < need:
            self.results["notes"].append(f"{name}: no time was left")
            return
        print(f"{name}: begins, {self.left():.0f} s left", flush=True)
        begun = time.time()
        try:
            run()
        except Exception as error:  # noqa: BLE001  (the other parts shall go on)
            traceback.print_exc()
            self.results["notes"].append(f"{name}: {error}"[:600])
        print(f"{name}: {time.time() - begun:.1f} s", flush=True)
        self.write()

    def write(self) -> None:
        with open(self.path, "w") as file:
            json.dump(self.results, file, indent=1)
        with open(os.path.join(self.options.out, "suspending.md"), "w") as file:
            file.write(markdown(self.results))

    def command(self, model: str, log: str, *more: str) -> list[str]:
        script = "count.py" if self.options.fake else "train.py"
        seed = str(1 + MODELS.index(model))
        words = [self.options.python, os.path.join(HERE, "jobs", script), "--model", model]
        return [*words, "--seed", seed, "--log", log, *more]

    def reference(self, model: str) -> str:
        return os.path.join(self.options.out, f"alone-{model}.jsonl")

    def alone(self) -> None:
        """Each job by itself: how fast it is, and what its losses are."""
        self.results["alone"] = {}
        for model in MODELS:
            log = self.reference(model)
            if os.path.exists(log):
                os.remove(log)
            begun = time.time()
            words = self.command(model, log, "--seconds", str(self.options.alone))
            subprocess.run(words, check=True, timeout=120)
            read = Log.read(log)
            times = read.progress()
            self.results["alone"][model] = {
                "steps": len(times),
                "steps_per_s": (len(times) - 1) / (times[-1] - times[0]),
                "step_s": read.step_s(),
                "start_s": times[0] - begun,
                "memory_mb": (read.ended or {}).get("memory_mb"),
            }

    def micro(self) -> None:
        """The driver's own calls, on processes that only hold memory."""
        self.results["micro"] = {}
        # One after the other, so that the memory read is theirs alone.
        for gigabytes in self.options.sizes:
            name = f"{gigabytes:g} GB"
            log = os.path.join(self.work, f"hold-{gigabytes:g}.jsonl")
            script = os.path.join(HERE, "jobs", "hold.py")
            process = subprocess.Popen([self.options.python, script, str(gigabytes), log])
            try:
                self.results["micro"][name] = self.cycle(log, process)
            except Exception as error:  # noqa: BLE001  (the other sizes shall be tried)
                self.results["micro"][name] = {"error": str(error)}
            finally:
                process.kill()
                process.wait()

    def cycle(self, log: str, process: subprocess.Popen[bytes]) -> dict[str, Any]:
        until = time.time() + 60
        while not os.path.exists(log) or os.path.getsize(log) == 0:
            if process.poll() is not None or time.time() > until:
                raise RuntimeError("it never held its memory")
            time.sleep(0.1)
        time.sleep(0.5)
        steps: dict[str, list[float]] = {}
        memory: dict[str, float | None] = {"0": Memory.now()}
        for turn in range(self.options.repeats):
            for what in ("suspend", "resume"):
                words = [self.options.probe, str(process.pid), what]
                done = subprocess.run(words, capture_output=True, text=True, timeout=120)
                if done.returncode != 0:
                    raise RuntimeError(f"{what}: {done.stderr.strip()}")
                for line in done.stdout.splitlines():
                    row = json.loads(line)
                    if "step" in row:
                        steps.setdefault(row["step"], []).append(row["took_ms"])
                if turn == 0:
                    memory["1" if what == "suspend" else "2"] = Memory.now()
        time.sleep(0.3)
        with open(log) as file:
            rows = [json.loads(line) for line in file if line.endswith("\n")]
        same = all(row.get("same", True) for row in rows)
        return {"steps_ms": steps, "memory_mb": memory, "same": same}

    def bare(self) -> None:
        """Turns without a server: the driver's calls and signals only. What is left of the seconds
        lost in the other parts is the server's."""
        logs = {model: os.path.join(self.work, f"bare-{model}.jsonl") for model in MODELS[:2]}
        jobs = {m: subprocess.Popen(self.command(m, log)) for m, log in logs.items()}
        try:
            until = time.time() + 60
            while any(not Log.read(log).steps for log in logs.values()):
                if time.time() > until or any(job.poll() is not None for job in jobs.values()):
                    raise RuntimeError("a job never began")
                time.sleep(0.1)
            names = list(jobs)
            self.sleep(jobs[names[1]].pid)
            since = time.time()
            for turn in range(6):
                time.sleep(3)
                running, next_ = names[turn % 2], names[(turn + 1) % 2]
                self.sleep(jobs[running].pid)
                self.wake(jobs[next_].pid)
            time.sleep(3)
        finally:
            for job in jobs.values():
                job.kill()
                job.wait()
        alone = {model: Log.read(self.reference(model)) for model in logs}
        figures = sharing({model: Log.read(log) for model, log in logs.items()}, alone, since)
        way = "freeze" if self.options.fake else "checkpoint"
        figures |= {"recipe": "none", "way": way, "count": 2, "turn": "3 s", "server": attempts([])}
        self.results.setdefault("sharing", {})["bare"] = figures

    def probe(self, pid: int, what: str) -> None:
        if not self.options.fake:
            words = [self.options.probe, str(pid), what]
            subprocess.run(words, check=True, capture_output=True, timeout=120)

    def sleep(self, pid: int) -> None:
        self.probe(pid, "suspend")
        os.kill(pid, signal.SIGSTOP)

    def wake(self, pid: int) -> None:
        os.kill(pid, signal.SIGCONT)
        self.probe(pid, "resume")

    def share(self, recipe: str, way: str, count: int, window: float) -> None:
        """Jobs under a server of its own."""
        name = f"{recipe}-{way}-{count}"
        room = {"recipe": recipe, "way": way, "count": count}
        try:
            figures = self.under_server(name, recipe, way, count, window)
            self.results.setdefault("sharing", {})[name] = figures | room
        except Exception as error:
            self.results.setdefault("sharing", {})[name] = {"error": str(error)} | room
            raise

    def turn(self, way: str) -> float:
        # A job that starts from scratch in each turn needs one longer than its start.
        return self.options.turn * (4 if way == "requeue" else 1)

    def knobs(self, recipe: str, turn: float) -> dict[str, str]:
        if recipe == "gandiva":
            return {"quantum": f"{turn:g} s", "packing": "false", "grow": "false"}
        if recipe == "tiresias":
            limits = ", ".join(f'"{turn * n:g} gpu-s"' for n in range(1, 13))
            return {"limits": f"[{limits}]"}
        return {}

    def submission(self, model: str, way: str, count: int, log: str) -> dict[str, Any]:
        more = []
        if way == "requeue":
            every = str(self.turn(way) / 4)
            more = ["--save-to", log.replace(".jsonl", ".pt"), "--save-every-s", every]
        gpus: dict[str, Any] = {"count": 1}
        if way == "mps":
            gpus["share"] = 1000 // count
        # The driver cannot move anything off emulated GPUs, and a server there refuses to promise
        # it; what is the best there is taken in its place.
        any_way = way == "mps" or way == "checkpoint" and self.options.emulate
        return {
            "name": model,
            "command": self.command(model, log, *more),
            "dir": self.work,
            "env": {"PATH": os.environ.get("PATH", ""), "HOME": os.environ.get("HOME", "/")},
            "gpus": gpus,
            # Memory stays on the GPU only for jobs that may not be started again instead.
            "requeue": way in ("requeue", "mps"),
            "grace-s": 2,
            "pause": "auto" if any_way else way,
            "model": model,
        }

    def enough(self, logs: dict[str, str], way: str) -> bool:
        """Whether there is enough to tell: a few turns of each, or a while side by side."""
        read = {model: Log.read(log) for model, log in logs.items()}
        if any(not log.steps for log in read.values()):
            return False
        if way == "mps":
            return time.time() > max(log.steps[0][2] for log in read.values()) + 10
        return len(switches(read)) >= (3 if way == "requeue" else 4) * len(logs)

    def under_server(
        self, name: str, recipe: str, way: str, count: int, window: float
    ) -> dict[str, Any]:
        up = ["--emulate", "1xH200"] if self.options.emulate else []
        server = Server(self.options.heeler, os.path.join(self.work, name), up + self.options.up)
        numbers: list[int] = []
        memory = Memory()
        models = MODELS[:count]
        logs = {model: os.path.join(self.work, f"{name}-{model}.jsonl") for model in models}
        try:
            server.recipe(recipe, self.knobs(recipe, self.turn(way)))
            memory.start()
            begun = time.time()
            for model, log in logs.items():
                numbers.append(server.submit(self.submission(model, way, count, log)))
            while time.time() < begun + window and not self.enough(logs, way):
                time.sleep(0.5)
            window = time.time() - begun
            views = [server.job(number) for number in numbers]
        finally:
            try:
                server.cancel(numbers)
            finally:
                server.stop()
        read = {model: Log.read(log) for model, log in logs.items()}
        for log in read.values():
            self.pids.update(start["pid"] for start in log.starts)
        alone = {model: Log.read(self.reference(model)) for model in models}
        figures = sharing(read, alone, None if way == "mps" else 0.0)
        figures["server"] = attempts(views)
        figures["attempts"] = {view["name"]: view.get("attempts", []) for view in views}
        figures["states"] = {view["name"]: view["state"] for view in views}
        figures["memory_mb"] = memory.end(begun + window / 2)
        figures["turn"] = "–" if way == "mps" else f"{self.turn(way):g} s"
        figures["window_s"] = window
        return figures

    def all(self) -> None:
        self.results["notes"] = []
        self.part("alone", self.alone)
        if not self.options.fake:
            self.part("micro", self.micro)
        self.part("bare", self.bare)
        wanted = [one for one in PLAN if not self.options.parts or self.wants(one)]
        for recipe, way, count in wanted:
            window = self.options.window * (1.0 if count == 2 else 1.5)
            window *= 1.5 if way == "requeue" else 1.0
            name = f"{recipe}-{way}-{count}"
            run = lambda r=recipe, w=way, c=count, s=window: self.share(r, w, c, s)  # noqa: E731
            self.part(name, run, window + 5)
        self.write()

    def wants(self, one: tuple[str, str, int]) -> bool:
        name = f"{one[0]}-{one[1]}-{one[2]}"
        return any(name.startswith(part) for part in self.options.parts)

    def clean(self) -> None:
        """End what a server that failed may have left, of the jobs that were started here."""
        for pid in self.pids:
            try:
                with open(f"/proc/{pid}/cmdline", "rb") as file:
                    ours = HERE.encode() in file.read()
                if ours:
                    os.kill(pid, signal.SIGKILL)
            except OSError:
                pass
        if self.options.keep:
            print(f"logs: {self.work}")
        else:
            shutil.rmtree(self.work, ignore_errors=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--heeler", default="target/debug/heeler", help="the binary")
    parser.add_argument("--probe", default="target/debug/examples/checkpoint", help="its example")
    parser.add_argument("--out", default="measured", help="folder for figures")
    parser.add_argument("--parts", nargs="*", default=[], help="names begin so; all if none")
    parser.add_argument("--budget", type=float, default=480.0, help="seconds in all")
    parser.add_argument("--turn", type=float, default=5.0, help="seconds of a turn")
    parser.add_argument("--window", type=float, default=32.0, help="seconds two jobs share at most")
    parser.add_argument("--alone", type=float, default=8.0, help="seconds each job steps alone")
    parser.add_argument("--sizes", type=float, nargs="*", default=[1, 6, 20], help="GB")
    parser.add_argument("--repeats", type=int, default=2, help="cycles for each size")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--emulate", action="store_true", help="emulated GPUs")
    parser.add_argument("--fake", action="store_true", help="jobs without PyTorch, on the CPU")
    parser.add_argument("--keep", action="store_true", help="keep the logs of jobs")
    parser.add_argument("--up", nargs="*", default=[], help="more words for `heeler up`")
    options = parser.parse_args()
    options.heeler, options.probe = map(os.path.abspath, (options.heeler, options.probe))
    options.out = os.path.abspath(options.out)
    measurement = Measurement(options)
    try:
        measurement.all()
    finally:
        measurement.clean()
    print(markdown(measurement.results))


if __name__ == "__main__":
    main()
