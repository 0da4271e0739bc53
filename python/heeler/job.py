"""A training job: what a script holds on to between ``heeler.init`` and its last step."""

import atexit
import math
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any, Callable, Dict, Iterable, Iterator, List, Mapping, Optional, Tuple, Union

from . import adapt, council, noise
from . import state as states
from .checkpoint import Store
from .link import Link
from .loader import Loader
from .stop import Stop
from .surroundings import Surroundings, age_s

#: Where checkpoints go when nobody says.
FOLDER = "heeler-checkpoints"


def init(
    state: Optional[Mapping[str, Any]] = None,
    *,
    batch: Optional[Tuple[int, int, int, int]] = None,
    lr_rule: str = "adascale",
    accumulation: bool = True,
    folder: Union[str, Path, None] = None,
    keep: int = 2,
    save_every_s: Optional[float] = 600.0,
    report_every_s: float = 2.0,
    adapt_every_s: float = 30.0,
    resume: bool = True,
) -> "Job":
    """Begin a job, or go on with it where it was saved.

    ``state`` names what makes up the training: things with ``state_dict`` and
    ``load_state_dict``, dicts, lists or arrays. If there is a checkpoint they hold its values when
    this returns. PyTorch users call it after ``init_process_group``, on every rank.

    ``batch`` lets the job change its batch as it learns how noisy its gradients are: the first
    total batch, the largest, and the fewest and most examples of one pass on one rank.
    ``lr_rule`` (``adascale``, ``sqrt``, ``linear`` or ``none``) says how the learning rate
    follows, ``accumulation`` whether a step may take several passes.

    Checkpoints are in ``folder``, else where Heeler says, else in ``heeler-checkpoints``; the
    latest ``keep`` stay. One is made every ``save_every_s`` seconds, when asked for, and at the
    end. ``resume=False`` begins anew even if there are some.
    """
    return Job(
        dict(state or {}),
        batch=batch,
        lr_rule=lr_rule,
        accumulation=accumulation,
        folder=folder,
        keep=keep,
        save_every_s=save_every_s,
        report_every_s=report_every_s,
        adapt_every_s=adapt_every_s,
        resume=resume,
    )


class Job:
    """A training job. Made by ``heeler.init``."""

    def __init__(
        self,
        state: Dict[str, Any],
        *,
        batch: Optional[Tuple[int, int, int, int]],
        lr_rule: str,
        accumulation: bool,
        folder: Union[str, Path, None],
        keep: int,
        save_every_s: Optional[float],
        report_every_s: float,
        adapt_every_s: float,
        resume: bool,
    ) -> None:
        if lr_rule not in adapt.RULES:
            raise ValueError(f"lr_rule should be one of {', '.join(adapt.RULES)}, not {lr_rule!r}")
        states.check(state)
        around = Surroundings.read()
        self._state = state
        #: This process among those of the job, and how many there are.
        self.rank, self.world = council.ranks() or (around.rank, around.world)
        self._range = adapt.Range(*batch, accumulation) if batch is not None else None
        self._accumulation = accumulation
        self._lr_rule = lr_rule
        self._save_every_s, self._report_every_s = save_every_s, report_every_s
        self._adapt_every_s = adapt_every_s
        #: Epochs and optimiser steps done, and examples seen by all ranks.
        self.epoch, self.steps, self.samples = 0, 0, 0
        #: Steps at the first batch that all steps so far were worth.
        self.progress = 0.0
        self._positions: Dict[str, int] = {}
        self._epochs: Optional[int] = None
        self.batch = self._range.start(self.world) if self._range else adapt.Batch(1)
        #: What is known of this job's gradients.
        self.noise = noise.GradientNoise()
        self._collected = noise.Collected()
        self._speed = adapt.Speed()
        self._chance: Optional[Tuple[Any]] = None
        # The pass that is under way: loader, examples, its number, passes, examples of the step
        # over all ranks, examples of the epoch; and whether its step has been counted.
        self._pass: Tuple[Optional[str], int, int, int, int, int] = (None, 1, 0, 1, 1, 0)
        self._counted = True
        self._wanted = council.NOTHING
        self._seq = 0
        self._loss: Any = None
        self._score: Any = None
        #: Which of the regimes the job was handed in with it is in, counted from 0: set it when a
        #: schedule changes the batch, for recipes that plan by it.
        self.regime: Optional[int] = None
        self._step_s: Optional[float] = None
        self._start_s: Optional[float] = None
        self._save_s: Optional[float] = None
        self._saved_step: Optional[int] = None
        self._asked = False
        self._finished = False
        self._took_signal = False

        place = Path(folder or around.folder or FOLDER)
        self._store = Store(place, self.rank, self.world, keep, around.incarnation)
        if resume:
            self._restore()
        self._council = council.convene(place, around.incarnation, self.rank, self.world)
        self._link = Link(around.socket if self.rank == 0 else None)
        self._torch: Any = None
        if "torch" in sys.modules:
            from .torch_glue import Glue

            self._torch = Glue(self, state, measure=self._range is not None)
        self._listen_for_signals()
        atexit.register(self._link.close)
        now = time.monotonic()
        self._last_step = self._last_end = self._last_save = self._last_adapted = now
        self._last_report = -math.inf
        self._report(now)

    # What a script uses.

    def epochs(self, count: int) -> Iterator[int]:
        """The epochs that are left of ``count``, beginning with the one that was interrupted."""
        self._epochs = count
        while self.epoch < count:
            self._resume_chance()
            yield self.epoch
            self._settle()
            self.epoch += 1
            self._positions = {}
        self.finish()

    def loader(
        self,
        dataset: Any,
        batch_size: Optional[int] = None,
        *,
        most: Optional[int] = None,
        name: str = "train",
        shuffle: bool = True,
        seed: int = 0,
        drop_last: bool = False,
        collate: Optional[Callable[[List[Any]], Any]] = None,
        workers: int = 0,
    ) -> Loader:
        """This rank's batches of what is left of the epoch.

        ``dataset`` is anything with a length and items by number. ``batch_size`` counts the
        examples of a step over *all* ranks, so training is the same on any number of them;
        ``most`` is how many of them a rank can take in one pass: with fewer ranks a step then takes
        several. With ``batch`` given to ``init``, both follow from that. Several loaders in one
        epoch need a ``name`` each. ``workers`` fetches by PyTorch's ``DataLoader``.
        """
        if self._range is None:
            if batch_size is None or batch_size < 1:
                raise ValueError("batch_size should be a number from 1 on: examples over all ranks")
            if batch_size < self.world:
                raise ValueError(
                    f"a batch of {batch_size} cannot be shared by {self.world} ranks; "
                    "use a larger batch or fewer GPUs"
                )
            local = -(-batch_size // self.world)
            passes = -(-local // most) if most is not None and self._accumulation else 1
            self.batch = adapt.Batch(batch_size, passes)
        elif batch_size is not None and batch_size != self._range.first:
            raise ValueError(
                f"batch_size {batch_size} is not the first batch given to init, {self._range.first}"
            )
        return Loader(self, dataset, name, shuffle, seed, drop_last, collate, workers)

    def step(self, loss: Any = None, score: Any = None) -> None:
        """One batch is done. Call it after each, with the loss and, if there is one, a score.

        Reports now and then, saves when it is time to or when asked to, and raises ``Stop`` if
        asked to stop, on all ranks after the same step. Between the passes of one step it only
        counts.
        """
        _, size, turn, turns, _, _ = self._pass
        now = time.monotonic()
        took = now - self._last_step
        if self._start_s is None:
            # The first step also warms up; it says nothing of how long steps take.
            self._start_s = age_s()
            self._last_report = -math.inf
        else:
            self._speed.observe(turn + 1 == turns, size, took)
        self._last_step, self._counted = now, True
        if loss is not None:
            self._loss = loss
        if score is not None:
            self._score = score
        if turn + 1 == turns:
            self._count_step(now - self._last_end)
            self._agree(now)
            self._last_end = time.monotonic()
        self._last_step = time.monotonic()

    def gradient(self, values: Iterable[float]) -> None:
        """Tell the mean gradient of this pass, where PyTorch does not do the training."""
        self._collected.add(values)

    @property
    def sync(self) -> bool:
        """Whether this pass ends its step: time to update parameters."""
        return self._pass[2] + 1 == self._pass[3]

    @property
    def passes(self) -> int:
        """Passes of the present step."""
        return self._pass[3]

    @property
    def lr_scale(self) -> float:
        """By what to multiply the learning rate; PyTorch optimisers in the state have it done."""
        if self._range is None:
            return 1.0
        return adapt.lr_scale(self._lr_rule, self.batch.total / self._range.first, self.noise)

    @property
    def share(self) -> float:
        """What a rank's mean loss should be multiplied by so that the mean over ranks is exact.

        It differs from 1 only where a step cannot be split evenly.
        """
        _, size, _, turns, total, _ = self._pass
        return size * self.world * turns / total

    def save(self) -> bool:
        """Save now; says whether it worked. All ranks must do it after the same step."""
        if self._saved_step == self.steps:
            return True
        started = time.monotonic()
        saved = {
            "state": states.take(self._state),
            "job": {
                "epoch": self.epoch,
                "steps": self.steps,
                "samples": self.samples,
                "progress": self.progress,
                "positions": dict(self._positions),
                "noise": self.noise.state_dict(),
                "speed": {str(self.world): self._speed.state_dict()},
                "total": self.batch.total,
            },
        }
        worked = self._store.save(self.steps, saved, {"chance": states.take_chance()})
        self._last_save = self._last_step = time.monotonic()
        if worked:
            self._saved_step, self._save_s = self.steps, self._last_save - started
        return worked

    def finish(self) -> None:
        """Training is over: save and report. ``epochs`` does it at its end."""
        if self._finished:
            return
        self._settle()
        self._finished = True
        self.save()
        if self._took_signal:
            # Nothing is left to save; what comes after training should end as any program does.
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
        self._report(time.monotonic())
        self._link.flush(1.0)

    # What loaders use.

    def _position(self, name: str) -> int:
        return self._positions.get(name, 0)

    def _begin(self, name: str, size: int, turn: int, turns: int, total: int, count: int) -> None:
        """A pass begins."""
        self._settle()
        self._pass = (name, size, turn, turns, total, count)
        self._counted = False
        if self._torch is not None:
            self._torch.begin(self.sync)

    def _settle(self) -> None:
        """Count a pass that the script went on from without calling ``step``."""
        if not self._counted:
            self.step()

    def _resume_chance(self) -> None:
        """Put random streams back once more, right before training goes on: what a script does
        between ``init`` and here may have drawn from them.
        """
        if self._chance is not None:
            (own,) = self._chance
            self._chance = None
            states.put_chance(own, f"heeler:{self.steps}:{self.rank}")

    # What happens in a step.

    def _count_step(self, took: float) -> None:
        name, _, _, _, total, count = self._pass
        self.steps += 1
        if name is not None:
            self.samples += total
            self._positions[name] = min(count, self._position(name) + total)
        self._step_s = took if self._step_s is None else 0.9 * self._step_s + 0.1 * took
        if self._range is None:
            self.progress += 1.0
            return
        scale = total / self._range.first
        self._collected.close(self.noise, scale / self.world)
        self.progress += self.noise.gain(scale)

    def _agree(self, now: float) -> None:
        """Do after this step what all ranks have agreed to do after it."""
        request = self._link.asked()
        if request is not None:
            self._asked = True
            self._wanted = max(self._wanted, council.STOP if request.stop else council.SAVE)
        every = self._save_every_s
        if self.rank == 0 and every is not None and now - self._last_save >= every:
            self._wanted = max(self._wanted, council.SAVE)
        total, passes = self._other_batch(now)
        wish = council.Wish(self._wanted, total, passes)
        granted = self._council.exchange(wish, self.steps)
        if granted.total:
            self.batch = adapt.Batch(granted.total, granted.passes)
            self._last_adapted = now
        if granted.what != council.NOTHING:
            self._save_as_agreed(granted.what)
        if now - self._last_report >= self._report_every_s:
            self._report(now)

    def _other_batch(self, now: float) -> Tuple[int, int]:
        """A better batch than the present one, if it is time to look for one; else zeros."""
        if self._range is None or self.rank != 0 or self._pass[0] is None:
            return 0, 0
        if now - self._last_adapted < self._adapt_every_s:
            return 0, 0
        best = adapt.choose(self.batch, self._range, self.world, self._speed, self.noise)
        if best == self.batch:
            self._last_adapted = now
            return 0, 0
        return best.total, best.passes

    def _save_as_agreed(self, what: int) -> None:
        self._wanted = council.NOTHING
        worked = self.save()
        if not worked:
            # To stop now would lose work; whoever asked hears nothing and has other means.
            self._last_save = time.monotonic()
            return
        if self._asked or what == council.STOP:
            self._asked = False
            self._report(time.monotonic())
            self._link.say({"saved": {"step": self.steps}})
        if what == council.STOP:
            self._link.flush(5.0)
            self._link.close()
            raise Stop(self.steps)

    def _restore(self) -> None:
        loaded = self._store.load()
        if loaded is None:
            return
        step, saved, own = loaded
        states.put(self._state, saved["state"])
        job = saved["job"]
        self.epoch, self.steps, self.samples = job["epoch"], job["steps"], job["samples"]
        self.progress, self._positions = job["progress"], dict(job["positions"])
        self.noise.load_state_dict(job["noise"])
        if str(self.world) in job["speed"]:
            self._speed.load_state_dict(job["speed"][str(self.world)])
        if self._range is not None:
            self.batch = self._range.fit(job["total"], self.world) or self.batch
        self._saved_step = step
        chance = None if own is None else own["chance"]
        self._chance = (chance,)
        states.put_chance(chance, f"heeler:{self.steps}:{self.rank}")
        if self.rank == 0:
            where = self._store.folder
            print(f"heeler: going on from step {step}, saved in {where}", file=sys.stderr)

    def _listen_for_signals(self) -> None:
        """Take SIGTERM as a request to save and stop, unless the script has plans for it."""
        if threading.current_thread() is not threading.main_thread():
            return
        if signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
            return

        def asked(_signal: int, _frame: Any) -> None:
            if self._start_s is None and self.world == 1:
                # No step was done since the start, so there is nothing to save. With several
                # ranks, another may have done one and wait for this.
                raise Stop(self.steps)
            self._wanted = council.STOP

        signal.signal(signal.SIGTERM, asked)
        self._took_signal = True

    # What is said of it.

    def _report(self, now: float) -> None:
        self._last_report = now
        if not self._link.there:
            return
        self._seq += 1
        name, size, _, turns, _, _ = self._pass
        told: Dict[str, Any] = {
            "seq": self._seq,
            "step": self.steps,
            "total-steps": self._total_steps(),
            "epoch": self._epochs_done(),
            "samples": self.samples,
            "loss": _number(self._loss),
            "score": _number(self._score),
            "step-s": self._step_s,
            "batch": [size, turns] if name is not None else None,
            "regime": self.regime,
            "gradient": [self.noise.sqr, self.noise.var] if self.noise.known else None,
            "saved-step": self._saved_step,
            "save-s": self._save_s,
            "start-s": self._start_s,
            "saves": True,
        }
        self._link.report({key: value for key, value in told.items() if value is not None})

    def _epochs_done(self) -> float:
        name, count = self._pass[0], self._pass[5]
        if name is None or count == 0:
            return float(self.epoch)
        return self.epoch + min(1.0, self._position(name) / count)

    def _total_steps(self) -> Optional[int]:
        """Steps until the last epoch is done, at the present batch."""
        name, count = self._pass[0], self._pass[5]
        if self._epochs is None or name is None or count == 0:
            return None
        left = count - self._position(name) + count * (self._epochs - self.epoch - 1)
        return self.steps + math.ceil(max(0, left) / self.batch.total)


def _number(value: Any) -> Optional[float]:
    """A loss as a number that JSON can say."""
    if value is None:
        return None
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return number if math.isfinite(number) else None
