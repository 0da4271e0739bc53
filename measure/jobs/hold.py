"""Holds so many gigabytes on the GPU, and says whether they are still what they were."""

import json
import sys
import time

import torch


def main() -> None:
    gigabytes, log = float(sys.argv[1]), open(sys.argv[2], "a", buffering=1)
    count = int(gigabytes * 2**30 / 4)
    held = torch.arange(count, dtype=torch.int32, device="cuda")
    total = int(held[:: 1 << 12].long().sum().item())
    log.write(json.dumps({"ready": time.time()}) + "\n")
    while True:
        same = int(held[:: 1 << 12].long().sum().item()) == total
        log.write(json.dumps({"t": time.time(), "same": same}) + "\n")
        time.sleep(0.02)


if __name__ == "__main__":
    main()
