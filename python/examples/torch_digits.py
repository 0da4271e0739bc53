"""A PyTorch model on made-up digits, on a GPU if there is one, on one process or several.

    python3 torch_digits.py
    torchrun --nproc-per-node=2 torch_digits.py
    heeler submit --gpus=1 -- python3 torch_digits.py

``--adaptive`` lets the batch follow the gradients' noise.
"""

import argparse
import os
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

try:
    import torch
except ImportError:
    sys.exit("this example needs PyTorch")

import heeler  # noqa: E402


def digits(count):
    """Pictures of ten noisy patterns, and which of them each is."""
    chance = torch.Generator().manual_seed(5)
    patterns = torch.randn(10, 64, generator=chance)
    labels = torch.randint(10, (count,), generator=chance)
    pictures = patterns[labels] + 1.5 * torch.randn(count, 64, generator=chance)
    return torch.utils.data.TensorDataset(pictures, labels)


def main():
    asked = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    asked.add_argument("--epochs", type=int, default=3)
    asked.add_argument("--examples", type=int, default=2000)
    asked.add_argument("--most", type=int, help="examples a pass can take")
    asked.add_argument("--pause", type=float, default=0.0, help="seconds to sleep in each step")
    asked.add_argument("--adaptive", action="store_true")
    asked.add_argument("--folder", help="where checkpoints go [default: where Heeler says]")
    asked = asked.parse_args()

    cuda = torch.cuda.is_available()
    device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", 0))) if cuda else "cpu"
    if int(os.environ.get("WORLD_SIZE", 1)) > 1:
        torch.distributed.init_process_group("nccl" if cuda else "gloo")
    torch.manual_seed(0)
    model = torch.nn.Sequential(
        torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Dropout(0.1), torch.nn.Linear(64, 10)
    ).to(device)
    if torch.distributed.is_initialized():
        model = torch.nn.parallel.DistributedDataParallel(model)
    opt = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    sched = torch.optim.lr_scheduler.StepLR(opt, step_size=20, gamma=0.9)

    job = heeler.init(
        state={"model": model, "opt": opt, "sched": sched},
        batch=(64, 512, 8, 128) if asked.adaptive else None,
        adapt_every_s=1.0,
        folder=asked.folder,
    )
    data = digits(asked.examples)
    size = None if asked.adaptive else 64
    for _epoch in job.epochs(asked.epochs):
        for pictures, labels in job.loader(data, size, most=asked.most):
            opt.zero_grad()
            loss = torch.nn.functional.cross_entropy(model(pictures.to(device)), labels.to(device))
            loss.backward()
            opt.step()
            sched.step()
            time.sleep(asked.pause)
            if job.rank == 0:
                print(f"step {job.steps + job.sync} loss {loss.item():.9f}", flush=True)
            job.step(loss=loss)
    if job.rank == 0:
        print(f"done after {job.steps} steps, batch {job.batch.total}", flush=True)
    if torch.distributed.is_initialized():
        torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
