"""How the ranks of a job come to do the same thing after the same step.

Any rank may want to save or stop; rank 0 may want another batch. What is granted reaches all
ranks at one step: through ``torch.distributed`` where it is in use, else through a file that
all ranks of this machine share, else at once, because there is only one.
"""

import mmap
import os
import sys
from pathlib import Path
from typing import Any, NamedTuple, Optional

NOTHING, SAVE, STOP = 0, 1, 2


class Wish(NamedTuple):
    """What a rank wants, and what all ranks get."""

    #: ``NOTHING``, ``SAVE`` or ``STOP``: the largest wish of any rank counts.
    what: int = NOTHING
    #: Another total batch, or 0; only rank 0 wishes for it.
    total: int = 0
    #: Passes of such a batch.
    passes: int = 0


class Alone:
    """One rank has its wish at once."""

    def exchange(self, wish: Wish, step: int) -> Wish:
        """What all ranks get after this step."""
        return wish


class Spoken:
    """Ranks that talk by ``torch.distributed``: wishes are granted one step later."""

    def __init__(self, torch: Any) -> None:
        self._torch = torch
        self._pending: Optional[Any] = None
        try:
            # A group of its own on the CPU, so that no GPU is waited for.
            self._group = torch.distributed.new_group(backend="gloo")
            self._device = "cpu"
        except (RuntimeError, ValueError):
            self._group = None
            self._device = "cuda"

    def exchange(self, wish: Wish, step: int) -> Wish:
        """What all ranks get after this step."""
        granted = Wish()
        if self._pending is not None:
            work, words = self._pending
            work.wait()
            granted = Wish(*(int(word) for word in words.tolist()))
            self._pending = None
        if granted.what != STOP:
            words = self._torch.tensor(list(wish), dtype=self._torch.int64, device=self._device)
            largest = self._torch.distributed.ReduceOp.MAX
            work = self._torch.distributed.all_reduce(
                words, op=largest, group=self._group, async_op=True
            )
            self._pending = (work, words)
        return granted


# Where words stand in the shared file; then one word for each rank's step, and one for the number
# of the latest grant that it has seen.
_WHAT, _NUMBER, _AT, _GRANTED, _TOTAL, _PASSES, _FIXED = range(7)


class Written:
    """Ranks that share a file: rank 0 grants what is to happen two steps ahead of everybody.

    Ranks that wait for each other in every step are never further apart than one step, so two
    ahead is early enough for all.
    """

    def __init__(self, path: Path, rank: int, world: int) -> None:
        self._rank, self._world, self._seen = rank, world, 0
        size = 8 * (_FIXED + 2 * world)
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            os.ftruncate(handle, size)
            self._words = memoryview(mmap.mmap(handle, size)).cast("q")
        finally:
            os.close(handle)

    def exchange(self, wish: Wish, step: int) -> Wish:
        """What all ranks get after this step."""
        words = self._words
        words[_FIXED + self._rank] = step
        if wish.what > words[_WHAT]:
            words[_WHAT] = wish.what
        if self._rank == 0:
            self._grant(wish)
        if words[_NUMBER] == self._seen or step < words[_AT]:
            return Wish()
        granted = Wish(words[_GRANTED], words[_TOTAL], words[_PASSES])
        self._seen = words[_NUMBER]
        words[_FIXED + self._world + self._rank] = self._seen
        return granted

    def _grant(self, wish: Wish) -> None:
        """Grant what is wished for, once all have seen what was granted before."""
        words = self._words
        if words[_WHAT] == NOTHING and wish.total == 0:
            return
        first = _FIXED + self._world
        if any(words[first + rank] != words[_NUMBER] for rank in range(self._world)):
            return
        words[_GRANTED], words[_TOTAL], words[_PASSES] = words[_WHAT], wish.total, wish.passes
        words[_WHAT] = NOTHING
        words[_AT] = 2 + max(words[_FIXED + rank] for rank in range(self._world))
        # Last, because others take all of the above to be there once it has changed.
        words[_NUMBER] += 1


def spoken() -> Optional[Any]:
    """PyTorch, if it is loaded and its processes are connected."""
    torch = sys.modules.get("torch")
    if torch is None or not torch.distributed.is_available():
        return None
    return torch if torch.distributed.is_initialized() else None


def ranks() -> Optional["tuple[int, int]"]:
    """This rank and how many there are, as PyTorch knows them."""
    torch = spoken()
    if torch is None:
        return None
    return torch.distributed.get_rank(), torch.distributed.get_world_size()


def convene(folder: Path, incarnation: str, rank: int, world: int) -> Any:
    """The way in which these ranks come to agree."""
    if world == 1:
        return Alone()
    torch = spoken()
    if torch is not None:
        return Spoken(torch)
    if rank == 0:
        for old in folder.glob(".ranks-*"):
            if old.name != f".ranks-{incarnation}":
                old.unlink()
    return Written(folder / f".ranks-{incarnation}", rank, world)
