"""Holds so many gigabytes on the GPU, and says whether they are still what they were."""

import json
import sys
import time

import torch


def main() -> None:
    gigabytes, log = float(sys.argv[1]), open(sys.argv[2], "a", buffering=1)
    count = int(gigabytes * 2**30 / 4)
    random = torch.Generator(device="cuda").manual_seed(1)
    numbers = {"dtype": torch.int32, "device": "cuda", "generator": random}
    held = torch.randint(0, 2**31 - 1, (count,), **numbers)
    total = held.sum(dtype=torch.int64).item()
    log.write(json.dumps({"ready": time.time()}) + "\n")
    while True:
        same = held.sum(dtype=torch.int64).item() == total
        log.write(json.dumps({"t": time.time(), "same": same}) + "\n")
        time.sleep(0.02)


if __name__ == "__main__":
    main()
