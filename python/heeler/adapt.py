"""Which batch to use: how it is split over ranks and passes, and which one gets most done."""

import math
from dataclasses import dataclass
from typing import Any, Dict, List, Optional, Tuple

from .noise import GradientNoise

#: How much more must be got done for a batch to be changed.
WORTH = 1.05

#: Totals that are tried between the smallest and the largest batch.
CANDIDATES = 50

RULES = ("adascale", "sqrt", "linear", "none")


@dataclass(frozen=True)
class Batch:
    """How the examples of one step are split."""

    #: Examples of a step over all ranks.
    total: int
    #: Passes in which each rank goes through its part.
    passes: int = 1

    def each(self, world: int) -> int:
        """Examples of one pass on each rank, at most."""
        return -(-self.total // (world * self.passes))


@dataclass(frozen=True)
class Range:
    """Which batches may be used: the first, the largest, and what a pass may be on a rank."""

    first: int
    largest: int
    pass_min: int
    pass_max: int
    accumulation: bool

    def __post_init__(self) -> None:
        if not 1 <= self.first <= self.largest:
            raise ValueError(f"batch: 1 <= {self.first} <= {self.largest} should hold (M0, M_max)")
        if not 1 <= self.pass_min <= self.pass_max:
            raise ValueError(
                f"batch: 1 <= {self.pass_min} <= {self.pass_max} should hold (m_min, m_max)"
            )

    def fit(self, total: int, world: int) -> Optional[Batch]:
        """How a total is split, if it can be."""
        local = total / world
        passes = max(1, math.ceil(local / self.pass_max - 1e-8))
        if world == 1 and self.accumulation and total > self.first:
            # One gradient in a step says nothing of how gradients differ.
            passes = max(2, passes)
        if passes > 1 and not self.accumulation:
            return None
        each = math.ceil(local / passes - 1e-8)
        if not self.pass_min <= each <= self.pass_max:
            return None
        return Batch(total, passes)

    def candidates(self, world: int) -> List[Batch]:
        """Batches to choose from, from small to large."""
        low = max(self.first, self.pass_min * world)
        if low > self.largest:
            return []
        ratio = self.largest / low
        totals = [round(low * ratio ** (i / (CANDIDATES - 1))) for i in range(CANDIDATES)]
        fits = (self.fit(total, world) for total in sorted(set(totals)))
        return [batch for batch in fits if batch is not None]

    def start(self, world: int) -> Batch:
        """The batch to begin with."""
        batch = self.fit(max(self.first, self.pass_min * world), world)
        if batch is None:
            candidates = self.candidates(world)
            if not candidates:
                raise ValueError(
                    f"no batch from {self.first} to {self.largest} can be split over {world} ranks "
                    f"in passes of {self.pass_min} to {self.pass_max}"
                )
            batch = candidates[0]
        return batch


class Speed:
    """How long passes take by their size: those that only add up, and those that end a step."""

    def __init__(self) -> None:
        # By whether it ends a step and by size: how many, and seconds in all.
        self._seen: Dict[Tuple[bool, int], List[float]] = {}

    def observe(self, ends: bool, size: int, seconds: float) -> None:
        """A pass of ``size`` examples took so long."""
        seen = self._seen.setdefault((ends, size), [0.0, 0.0])
        seen[0] += 1.0
        seen[1] += seconds

    @property
    def known(self) -> bool:
        """Whether enough has been seen to say anything."""
        return any(ends and seen[0] >= 3 for (ends, _), seen in self._seen.items())

    def step_s(self, batch: Batch, world: int) -> float:
        """How long a step would take."""
        each = batch.each(world)
        last = _line(self._points(True))
        adding = self._points(False)
        rest = _line(adding) if adding else last
        return (batch.passes - 1) * _at(rest, each) + _at(last, each)

    def _points(self, ends: bool) -> List[Tuple[float, float, float]]:
        points = self._seen.items()
        return [(size, seen[1] / seen[0], seen[0]) for (e, size), seen in points if e == ends]

    def state_dict(self) -> Dict[str, Any]:
        """For a checkpoint."""
        return {"seen": [[*key, *seen] for key, seen in self._seen.items()]}

    def load_state_dict(self, saved: Dict[str, Any]) -> None:
        """From a checkpoint."""
        self._seen = {(bool(e), int(m)): [n, s] for e, m, n, s in saved["seen"]}


def _line(points: List[Tuple[float, float, float]]) -> Tuple[float, float]:
    """Seconds of an empty pass and of each example more, by least squares.

    One size alone does not tell the two apart; half each is hopeful enough to try others.
    """
    weight = sum(n for _, _, n in points)
    mean_m = sum(n * m for m, _, n in points) / weight
    mean_t = sum(n * t for _, t, n in points) / weight
    spread = sum(n * (m - mean_m) ** 2 for m, _, n in points)
    if spread <= 0.0:
        return mean_t / 2.0, mean_t / 2.0 / mean_m
    slope = max(0.0, sum(n * (m - mean_m) * (t - mean_t) for m, t, n in points) / spread)
    start = mean_t - slope * mean_m
    if start < 0.0:
        return 0.0, mean_t / mean_m
    return start, slope


def _at(line: Tuple[float, float], size: int) -> float:
    return max(1e-9, line[0] + line[1] * size)


def choose(now: Batch, among: Range, world: int, speed: Speed, noise: GradientNoise) -> Batch:
    """The batch that gets most done in a second, or the present one if none is much better."""
    if not (speed.known and noise.known):
        return now

    def goodput(batch: Batch) -> float:
        worth = batch.total * noise.efficiency(batch.total / among.first)
        return worth / speed.step_s(batch, world)

    best = max(among.candidates(world), key=goodput, default=now)
    return best if goodput(best) > WORTH * goodput(now) else now


def lr_scale(rule: str, scale: float, noise: GradientNoise) -> float:
    """By what to multiply the learning rate at ``scale`` times the first batch."""
    if rule == "adascale":
        return noise.gain(scale)
    if rule == "sqrt":
        return math.sqrt(scale)
    if rule == "linear":
        return scale
    return 1.0
