"""What a process is told by its environment: which job, which rank, where to save and report."""

import os
import time
from dataclasses import dataclass
from typing import Mapping, Optional


@dataclass(frozen=True)
class Surroundings:
    """What the variables around a process say."""

    #: The Unix socket of the job's shepherd.
    socket: Optional[str]
    #: The job's number, if it runs under Heeler.
    job: Optional[str]
    #: Tells one start of the job from all others.
    incarnation: str
    #: Where checkpoints belong, if that is said.
    folder: Optional[str]
    #: This process among those of the job.
    rank: int
    #: How many processes the job has.
    world: int

    @staticmethod
    def read(env: Optional[Mapping[str, str]] = None) -> "Surroundings":
        """Read them from the environment."""
        env = os.environ if env is None else env
        job = env.get("HEELER_JOB") or None
        if job is None:
            # Ranks that were started together have one parent; that tells stale files apart.
            incarnation = f"p{os.getppid()}"
        else:
            generation = env.get("HEELER_GENERATION", "0")
            incarnation = f"g{generation}-{env.get('HEELER_RESTARTS', '0')}"
        rank, world = number(env, "RANK", 0), max(1, number(env, "WORLD_SIZE", 1))
        if not 0 <= rank < world:
            raise ValueError(f"RANK is {rank}, but WORLD_SIZE is {world}; ranks count from 0")
        return Surroundings(
            socket=env.get("HEELER_SOCKET") or None,
            job=job,
            incarnation="".join(c if c.isalnum() or c == "-" else "_" for c in incarnation),
            folder=env.get("HEELER_CHECKPOINT_DIR") or None,
            rank=rank,
            world=world,
        )


def number(env: Mapping[str, str], name: str, otherwise: int) -> int:
    """A variable that is a whole number."""
    text = env.get(name, "")
    if not text:
        return otherwise
    try:
        return int(text)
    except ValueError:
        raise ValueError(f"the variable {name} should be a whole number, not {text!r}") from None


_LOADED = time.monotonic()


def age_s() -> float:
    """Seconds since this process was started, as the kernel counts; else since this was loaded."""
    try:
        with open("/proc/self/stat", encoding="ascii") as file:
            # The name of the program stands in brackets and may hold anything.
            fields = file.read().rsplit(")", 1)[1].split()
        started = int(fields[19]) / os.sysconf("SC_CLK_TCK")
        return max(0.0, time.clock_gettime(time.CLOCK_BOOTTIME) - started)
    except (OSError, AttributeError, IndexError, ValueError):
        return time.monotonic() - _LOADED
