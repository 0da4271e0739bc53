"""How noisy gradients are, and what a larger batch is therefore worth.

Gradients of several parts of one batch differ by chance. How much they differ against how
long their mean is gives the noise scale; by it, ``gain`` says how many steps at the first batch
one step at a larger batch is worth, as AdaScale and Pollux use it.
"""

from typing import Any, Dict, Iterable, List, Optional, Sequence


class GradientNoise:
    """A running estimate of a gradient's squared norm and of its variance at the first batch."""

    def __init__(self, smoothing: float = 0.999) -> None:
        if not 0.0 <= smoothing < 1.0:
            raise ValueError(f"smoothing should be from 0 up to, but not, 1; not {smoothing}")
        self._smoothing = smoothing
        self._reset()

    def _reset(self) -> None:
        self._sqr = self._var = self._weight = 0.0
        self._biased = False

    def observe(
        self,
        parts: int,
        mean_of_squares: float,
        square_of_mean: float,
        scale: float,
        biased: bool = False,
    ) -> None:
        """Take in one step.

        ``parts`` gradients of equal parts of a batch, which was ``scale`` times the first batch,
        had squared norms of this mean, and their mean had this squared norm. ``biased`` marks
        what was had by comparing two successive steps; it is forgotten once there is better.
        """
        if parts < 2 or not (mean_of_squares >= 0.0 and square_of_mean >= 0.0 and scale > 0.0):
            return
        if mean_of_squares == float("inf") or square_of_mean == float("inf"):
            return
        if self._biased and not biased:
            self._reset()
        elif biased and not self._biased and self._weight > 0.0:
            return
        self._biased = biased
        sqr = (parts * square_of_mean - mean_of_squares) / (parts - 1)
        var = (mean_of_squares - square_of_mean) * scale / (parts - 1)
        keep = self._smoothing**scale
        self._sqr = keep * self._sqr + (1.0 - keep) * sqr
        self._var = keep * self._var + (1.0 - keep) * var
        self._weight = keep * self._weight + (1.0 - keep)

    @property
    def known(self) -> bool:
        """Whether anything has been observed."""
        return self._weight > 0.0

    @property
    def sqr(self) -> float:
        """The squared norm of the true gradient."""
        return max(0.0, self._sqr / self._weight) if self.known else 0.0

    @property
    def var(self) -> float:
        """The variance of a gradient at the first batch, summed over its components."""
        return max(0.0, self._var / self._weight) if self.known else 0.0

    def gain(self, scale: float) -> float:
        """Steps at the first batch that one step at ``scale`` times it is worth: 1 to scale."""
        sqr, var = self.sqr, self.var
        if not self.known or scale <= 0.0 or var / scale + sqr <= 0.0:
            return 1.0
        return (var + sqr) / (var / scale + sqr)

    def efficiency(self, scale: float) -> float:
        """What an example is worth at ``scale`` times the first batch, against at the first."""
        return self.gain(scale) / scale

    def state_dict(self) -> Dict[str, Any]:
        """For a checkpoint."""
        return {"sqr": self._sqr, "var": self._var, "weight": self._weight, "biased": self._biased}

    def load_state_dict(self, saved: Dict[str, Any]) -> None:
        """From a checkpoint."""
        self._sqr, self._var = saved["sqr"], saved["var"]
        self._weight, self._biased = saved["weight"], saved["biased"]


class Collected:
    """Gradients of one step as plain numbers, for loops that have no PyTorch."""

    def __init__(self) -> None:
        self._before: Optional[List[float]] = None
        self._clear()

    def _clear(self) -> None:
        self._sum: Optional[List[float]] = None
        self._squares = 0.0
        self._parts = 0

    def add(self, gradient: Iterable[float]) -> None:
        """The mean gradient of one pass."""
        values = [float(value) for value in gradient]
        if self._sum is None:
            self._sum = values
        else:
            if len(values) != len(self._sum):
                raise ValueError(f"a gradient of {len(values)} after one of {len(self._sum)}")
            self._sum = [a + b for a, b in zip(self._sum, values)]
        self._squares += square(values)
        self._parts += 1

    def close(self, noise: GradientNoise, scale: float) -> None:
        """The step is over: tell what was learned. ``scale`` is of what this rank did in it."""
        if self._sum is None:
            return
        mean = [value / self._parts for value in self._sum]
        if self._parts > 1:
            noise.observe(self._parts, self._squares / self._parts, square(mean), scale)
        elif self._before is not None and len(self._before) == len(mean):
            both = [(a + b) / 2.0 for a, b in zip(self._before, mean)]
            squares = (square(self._before) + square(mean)) / 2.0
            noise.observe(2, squares, square(both), 2.0 * scale, biased=True)
        self._before = mean
        self._clear()


def square(values: Sequence[float]) -> float:
    """The squared norm."""
    return sum(value * value for value in values)
