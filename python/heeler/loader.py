"""Batches of a dataset: every example once in an epoch, whatever the number of ranks, and from
where a job left off, even if it had another number of ranks then.
"""

import random
import sys
from typing import TYPE_CHECKING, Any, Callable, Iterator, List, Optional, Sequence, Tuple

from .adapt import Batch

if TYPE_CHECKING:
    from .job import Job


def order(count: int, epoch: int, seed: int, shuffle: bool) -> List[int]:
    """All examples in the order of an epoch; the same on every rank."""
    indices = list(range(count))
    if shuffle:
        random.Random(f"heeler:{seed}:{epoch}").shuffle(indices)
    return indices


def part(examples: Sequence[int], rank: int, world: int) -> Sequence[int]:
    """A rank's part of a step: neighbours, in sizes that differ by one at most."""
    count = len(examples)
    return examples[count * rank // world : count * (rank + 1) // world]


def step_size(left: int, total: int, world: int) -> int:
    """How many of the examples that are left make the next step.

    What would be too few for every rank to have one is taken along with the step before.
    """
    size = min(left, total)
    return left if left - size < world else size


class Loader:
    """A dataset's batches for this rank. See ``Job.loader``."""

    def __init__(
        self,
        job: "Job",
        dataset: Any,
        name: str,
        shuffle: bool,
        seed: int,
        drop_last: bool,
        collate: Optional[Callable[[List[Any]], Any]],
        workers: int,
    ) -> None:
        self._job = job
        self._dataset = dataset
        self._name = name
        self._shuffle = shuffle
        self._seed = seed
        self._drop_last = drop_last
        self._collate = collate
        self._workers = workers
        count = len(dataset)
        if count < job.world:
            raise ValueError(f"{count} examples cannot be shared by {job.world} ranks")

    def __len__(self) -> int:
        """Passes in a whole epoch at the present batch."""
        return sum(1 for _ in self._passes(0, self._job.batch))

    def __iter__(self) -> Iterator[Any]:
        job, name = self._job, self._name
        job._resume_chance()
        while True:
            batch = job.batch
            passes = self._passes(job._position(name), batch)
            fetched = self._fetch([indices for indices, _ in passes])
            for (indices, place), examples in zip(passes, fetched):
                job._begin(name, len(indices), *place)
                yield examples
                job._settle()
                if job.batch != batch:
                    break
            else:
                return

    def _passes(
        self, start: int, batch: Batch
    ) -> List[Tuple[Sequence[int], Tuple[int, int, int, int]]]:
        """This rank's passes from a place in the epoch on.

        Each with its number in the step, how many the step has, how many examples it takes from
        the epoch, and how many the epoch has.
        """
        rank, world = self._job.rank, self._job.world
        count = len(self._dataset)
        if self._drop_last:
            count -= (count - start) % batch.total
        indices = order(len(self._dataset), self._job.epoch, self._seed, self._shuffle)
        passes: List[Tuple[Sequence[int], Tuple[int, int, int, int]]] = []
        at = start
        while at < count:
            size = step_size(count - at, batch.total, world)
            examples = indices[at : at + size]
            while len(examples) < world:
                # Only after a change to more ranks than there are examples left: some are seen
                # twice, because a rank without any would keep the others waiting for ever.
                examples = examples + examples[: world - len(examples)]
            mine = part(examples, rank, world)
            times = max(1, min(batch.passes, size // world))
            for turn in range(times):
                passes.append((part(mine, turn, times), (turn, times, size, count)))
            at += size
        return passes

    def _fetch(self, lists: List[Sequence[int]]) -> Iterator[Any]:
        if self._workers > 0:
            from torch.utils.data import DataLoader

            return iter(
                DataLoader(
                    self._dataset,
                    batch_sampler=lists,
                    num_workers=self._workers,
                    collate_fn=self._collate,
                )
            )
        return (self._collated([self._dataset[i] for i in indices]) for indices in lists)

    def _collated(self, examples: List[Any]) -> Any:
        if self._collate is not None:
            return self._collate(examples)
        torch = sys.modules.get("torch")
        first = examples[0]
        whole = first[0] if isinstance(first, (tuple, list)) and first else first
        if torch is not None and isinstance(whole, torch.Tensor):
            from torch.utils.data import default_collate

            return default_collate(examples)
        return examples
