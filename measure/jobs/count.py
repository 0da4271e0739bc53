"""Stands for a training job where there is no PyTorch and no GPU: numbers that depend on all that
came before them, in place of losses. The log and the options are those of `train.py`.
"""

import argparse
import json
import os
import time


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", default="small")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--steps", type=int, default=10**9)
    parser.add_argument("--seconds", type=float, default=1e9)
    parser.add_argument("--log", required=True)
    parser.add_argument("--save-to")
    parser.add_argument("--save-every-s", type=float, default=1.0)
    options = parser.parse_args()
    log = open(options.log, "a", buffering=1)
    step, state = 0, options.seed
    if options.save_to and os.path.exists(options.save_to):
        with open(options.save_to) as file:
            step, state = json.load(file)
    log.write(json.dumps({"pid": os.getpid(), "begun": time.time(), "from": step}) + "\n")
    since = saved_at = time.time()
    while step < options.steps and time.time() - since < options.seconds:
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        line = {"step": step, "loss": (state / 2**64).hex(), "t": time.time()}
        log.write(json.dumps(line) + "\n")
        step += 1
        time.sleep(0.01)
        if options.save_to and time.time() - saved_at > options.save_every_s:
            with open(options.save_to + ".new", "w") as file:
                json.dump([step, state], file)
            os.replace(options.save_to + ".new", options.save_to)
            saved_at = time.time()
    log.write(json.dumps({"ended": time.time(), "memory_mb": 0}) + "\n")


if __name__ == "__main__":
    main()
