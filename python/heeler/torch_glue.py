"""What PyTorch objects in a job's state have done for them: steps of several passes, the
learning-rate rule, and measuring how gradients differ. Loaded only where PyTorch is.
"""

import functools
import types
from typing import TYPE_CHECKING, Any, List, Mapping, Optional, Tuple

import torch
from torch.nn.parallel import DistributedDataParallel

from . import council

if TYPE_CHECKING:
    from .job import Job


class Glue:
    """Sits on the optimisers, schedulers and models of a job."""

    def __init__(self, job: "Job", state: Mapping[str, Any], measure: bool) -> None:
        self._job = job
        self._models = [it for it in state.values() if isinstance(it, DistributedDataParallel)]
        self._optimizers = [it for it in state.values() if isinstance(it, torch.optim.Optimizer)]
        # Whether gradients of passes that ended no step are waiting to be used.
        self._waiting = False
        for optimizer in self._optimizers:
            self._take_over(optimizer)
        for thing in state.values():
            if isinstance(thing, torch.optim.lr_scheduler.LRScheduler):
                self._only_when_in_sync(thing)
        self._measuring: Optional[Measuring] = None
        if measure and self._optimizers:
            self._measuring = Measuring(job, self._parameters())

    def begin(self, sync: bool) -> None:
        """A pass begins; gradients need to be exchanged only if it ends a step."""
        for model in self._models:
            model.require_backward_grad_sync = sync

    def _parameters(self) -> List[torch.Tensor]:
        groups = (group for optimizer in self._optimizers for group in optimizer.param_groups)
        return [parameter for group in groups for parameter in group["params"]]

    def _take_over(self, optimizer: torch.optim.Optimizer) -> None:
        """Let ``step`` and ``zero_grad`` do nothing in passes that end no step."""
        step, zero_grad = optimizer.step, optimizer.zero_grad

        @functools.wraps(step)
        def stepped(_self: Any, *args: Any, **kwargs: Any) -> Any:
            if not self._job.sync:
                self._waiting = True
                return None
            self._waiting = False
            return self._scaled(optimizer, step, args, kwargs)

        @functools.wraps(zero_grad)
        def zeroed(_self: Any, *args: Any, **kwargs: Any) -> Any:
            return None if self._waiting else zero_grad(*args, **kwargs)

        # Schedulers look for methods of the optimiser, not for plain functions.
        setattr(optimizer, "step", types.MethodType(stepped, optimizer))
        setattr(optimizer, "zero_grad", types.MethodType(zeroed, optimizer))

    def _scaled(self, optimizer: torch.optim.Optimizer, step: Any, args: Any, kwargs: Any) -> Any:
        """An optimiser's own step, on the mean over passes, at the learning rate of the rule."""
        turns = self._job._pass[3]
        if turns > 1:
            for group in optimizer.param_groups:
                for parameter in group["params"]:
                    if parameter.grad is not None:
                        parameter.grad.div_(turns)
        if self._measuring is not None and optimizer is self._optimizers[0]:
            self._measuring.close(turns)
        scale = self._job.lr_scale
        rates = [group["lr"] for group in optimizer.param_groups]
        try:
            for group, rate in zip(optimizer.param_groups, rates):
                group["lr"] = rate * scale
            return step(*args, **kwargs)
        finally:
            for group, rate in zip(optimizer.param_groups, rates):
                group["lr"] = rate

    def _only_when_in_sync(self, scheduler: Any) -> None:
        step = scheduler.step

        @functools.wraps(step)
        def stepped(_self: Any, *args: Any, **kwargs: Any) -> Any:
            return step(*args, **kwargs) if self._job.sync else None

        scheduler.step = types.MethodType(stepped, scheduler)


class Measuring:
    """Adds up squared norms of the gradients of passes, and compares them with their mean's.

    What a step gave is looked at one step later, so that no GPU is waited for.
    """

    def __init__(self, job: "Job", parameters: List[torch.Tensor]) -> None:
        self._job = job
        self._parameters = [parameter for parameter in parameters if parameter.requires_grad]
        self._squares: Optional[torch.Tensor] = None
        self._before: Optional[List[torch.Tensor]] = None
        self._pending: Optional[Tuple[torch.Tensor, Any, int, float, bool]] = None
        for parameter in self._parameters:
            parameter.register_hook(self._see)

    def _see(self, gradient: torch.Tensor) -> None:
        square = gradient.detach().float().pow(2).sum()
        self._squares = (
            square if self._squares is None else self._squares.to(square.device) + square
        )

    def close(self, turns: int) -> None:
        """A step ends: parameters hold the mean of all passes of all ranks."""
        self._look()
        squares, self._squares = self._squares, None
        gradients = [p.grad.detach() for p in self._parameters if p.grad is not None]
        if squares is None or not gradients or self._job._range is None:
            return
        world = self._job.world if council.spoken() is not None else 1
        parts = world * turns
        scale = self._job._pass[4] / self._job._range.first * world / self._job.world
        if parts > 1:
            self._before = None
            seen = torch.stack([squares / turns, _square(gradients).to(squares.device)])
            biased = False
        else:
            now = [gradient.clone() for gradient in gradients]
            before, self._before = self._before, now
            if before is None or len(before) != len(now):
                return
            both = [(a + b) / 2 for a, b in zip(before, now)]
            seen = torch.stack([(_square(before) + _square(now)) / 2, _square(both)])
            parts, scale, biased = 2, 2 * scale, True
        work = torch.distributed.all_reduce(seen, async_op=True) if world > 1 else None
        self._pending = (seen, work, parts, scale, biased)

    def _look(self) -> None:
        """Take in what the step before gave."""
        if self._pending is None:
            return
        seen, work, parts, scale, biased = self._pending
        self._pending = None
        world = 1
        if work is not None:
            work.wait()
            world = torch.distributed.get_world_size()
        mean_of_squares, square_of_mean = (value / world for value in seen.tolist())
        self._job.noise.observe(parts, mean_of_squares, square_of_mean, scale, biased)


def _square(tensors: List[torch.Tensor]) -> torch.Tensor:
    squares = [tensor.float().pow(2).sum() for tensor in tensors]
    return torch.stack([square.to(squares[0].device) for square in squares]).sum()
