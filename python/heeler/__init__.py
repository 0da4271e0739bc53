"""Training jobs that report how far they are, save when asked, resume, and adapt their batch.

Two lines make a training loop a good citizen of a shared cluster::

    import heeler

    job = heeler.init(state={"model": model, "opt": opt})   # restores if there is a checkpoint
    for epoch in job.epochs(10):
        for batch in job.loader(dataset, batch_size=256):   # this rank's part, from where it was
            loss = train(batch)
            job.step(loss=loss)                             # reports; saves and stops when asked

Without Heeler around, the same script runs the same way and keeps its checkpoints in a folder.
"""

from .adapt import Batch
from .checkpoint import CheckpointError, Store
from .job import Job, init
from .noise import GradientNoise
from .stop import Stop

__version__ = "0.1.0"

__all__ = [
    "Batch",
    "CheckpointError",
    "GradientNoise",
    "Job",
    "Stop",
    "Store",
    "__version__",
    "init",
]
