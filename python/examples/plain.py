"""A small neural network, trained in plain Python: the two-line integration without PyTorch.

    python3 plain.py --epochs 5

Stop it with `kill`, start it again: the losses go on as if nothing had
happened. Under Heeler: ``heeler submit -- python3 plain.py``.
"""

import argparse
import math
import random
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import heeler  # noqa: E402


def spirals(count):
    """Points of two spirals, and which of them each belongs to."""
    chance = random.Random(7)
    points = []
    for number in range(count):
        turn = number / count * 3.0
        label = number % 2
        angle = turn * math.pi + label * math.pi
        noise = chance.gauss(0.0, 0.05), chance.gauss(0.0, 0.05)
        points.append(
            ((turn * math.cos(angle) + noise[0], turn * math.sin(angle) + noise[1]), label)
        )
    return points


class Network:
    """Two inputs, a hidden layer, one output; knows its own gradient."""

    def __init__(self, hidden):
        chance = random.Random(1)
        self.hidden = hidden
        self.weights = [chance.uniform(-1.0, 1.0) for _ in range(4 * hidden + 1)]

    def loss_and_gradient(self, examples):
        """The mean over examples of cross-entropy, and its gradient."""
        w, h = self.weights, self.hidden
        loss, gradient = 0.0, [0.0] * len(w)
        for (x, y), label in examples:
            out = [math.tanh(w[3 * i] * x + w[3 * i + 1] * y + w[3 * i + 2]) for i in range(h)]
            score = sum(w[3 * h + i] * out[i] for i in range(h)) + w[4 * h]
            sure = 1.0 / (1.0 + math.exp(-max(-30.0, min(30.0, score))))
            loss -= math.log(max(1e-12, sure if label else 1.0 - sure))
            back = sure - label
            for i in range(h):
                gradient[3 * h + i] += back * out[i]
                inner = back * w[3 * h + i] * (1.0 - out[i] ** 2)
                gradient[3 * i] += inner * x
                gradient[3 * i + 1] += inner * y
                gradient[3 * i + 2] += inner
            gradient[4 * h] += back
        return loss / len(examples), [value / len(examples) for value in gradient]


def main():
    asked = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    asked.add_argument("--epochs", type=int, default=5)
    asked.add_argument("--examples", type=int, default=400)
    asked.add_argument("--batch", type=int, default=32)
    asked.add_argument("--rate", type=float, default=0.3)
    asked.add_argument("--pause", type=float, default=0.0, help="seconds to sleep in each step")
    asked.add_argument("--folder", help="where checkpoints go [default: where Heeler says]")
    asked = asked.parse_args()

    random.seed(11)
    data, network = spirals(asked.examples), Network(8)
    speed = [0.0] * len(network.weights)
    job = heeler.init(state={"weights": network.weights, "speed": speed}, folder=asked.folder)
    for _epoch in job.epochs(asked.epochs):
        for batch in job.loader(data, batch_size=asked.batch):
            loss, gradient = network.loss_and_gradient(batch)
            for i, slope in enumerate(gradient):
                # A little noise from the global stream, to show that chance resumes, too.
                speed[i] = 0.9 * speed[i] + slope + random.gauss(0.0, 1e-3)
                network.weights[i] -= asked.rate * speed[i]
            time.sleep(asked.pause)
            print(f"step {job.steps + 1} loss {loss:.12f}", flush=True)
            job.step(loss=loss)
    print(f"done after {job.steps} steps", flush=True)


if __name__ == "__main__":
    main()
