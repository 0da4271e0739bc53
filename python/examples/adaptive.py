"""A linear model, trained in plain Python with a batch that follows how noisy its gradients are.

    python3 adaptive.py

As the model gets near its best, gradients are mostly noise, larger batches get more done, and
the job takes them.
"""

import argparse
import random
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import heeler  # noqa: E402

SIZE = 6


def examples(count):
    """Inputs and answers of a linear rule with noise."""
    chance = random.Random(3)
    rule = [chance.uniform(-1.0, 1.0) for _ in range(SIZE)]
    made = []
    for _ in range(count):
        inputs = [chance.gauss(0.0, 1.0) for _ in range(SIZE)]
        answer = sum(a * b for a, b in zip(rule, inputs)) + chance.gauss(0.0, 0.5)
        made.append((inputs, answer))
    return made


def loss_and_gradient(weights, batch):
    """The mean over a batch of half the squared error, and its gradient."""
    loss, gradient = 0.0, [0.0] * SIZE
    for inputs, answer in batch:
        error = sum(w * x for w, x in zip(weights, inputs)) - answer
        loss += 0.5 * error * error / len(batch)
        for i, x in enumerate(inputs):
            gradient[i] += error * x / len(batch)
    return loss, gradient


def main():
    asked = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    asked.add_argument("--epochs", type=int, default=6)
    asked.add_argument("--overhead", type=float, default=0.001, help="seconds a pass takes besides")
    asked.add_argument("--folder", help="where checkpoints go [default: where Heeler says]")
    asked = asked.parse_args()

    data, weights, total = examples(3000), [0.0] * SIZE, [0.0] * SIZE
    job = heeler.init(
        state={"weights": weights},
        batch=(16, 1024, 8, 256),
        lr_rule="adascale",
        folder=asked.folder,
        adapt_every_s=0.02,
    )
    for epoch in job.epochs(asked.epochs):
        for batch in job.loader(data):
            loss, gradient = loss_and_gradient(weights, batch)
            job.gradient(gradient)
            # What launching kernels costs on a GPU; without it small batches are as fast as large.
            time.sleep(asked.overhead)
            total = [a + b for a, b in zip(total, gradient)]
            if job.sync:
                rate = 0.02 * job.lr_scale
                for i in range(SIZE):
                    weights[i] -= rate * total[i] / job.passes
                total = [0.0] * SIZE
            job.step(loss=loss)
        print(
            f"epoch {epoch} step {job.steps} loss {loss:.4f} batch {job.batch.total} "
            f"noise {job.noise.var / max(1e-12, job.noise.sqr):.2f} worth {job.progress:.0f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
