"""A training job that knows nothing of Heeler: synthetic data, a fixed seed, and the same losses
in every run. Each step is one line of JSON in its log: number, loss (exactly) and time.
"""

import argparse
import json
import os
import time

BEGUN = time.time()

import torch  # noqa: E402  (the import is part of what starting costs)
from torch import nn  # noqa: E402

# Width, layers, batch, length: between one and six gigabytes with Adam's state.
TRANSFORMERS = {"small": (768, 8, 16, 256), "large": (1280, 14, 16, 256)}
WORDS = 8192


class Transformer(nn.Module):
    """A decoder that predicts the next word."""

    def __init__(self, width: int, layers: int, length: int) -> None:
        super().__init__()
        self.words = nn.Embedding(WORDS, width)
        self.places = nn.Parameter(torch.zeros(length, width))
        layer = nn.TransformerEncoderLayer(
            width, width // 64, 4 * width, dropout=0.0, batch_first=True, norm_first=True
        )
        self.layers = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.out = nn.Linear(width, WORDS)
        mask = nn.Transformer.generate_square_subsequent_mask(length)
        self.register_buffer("mask", mask, persistent=False)

    def forward(self, words: torch.Tensor) -> torch.Tensor:
        hidden = self.words(words) + self.places
        return self.out(self.layers(hidden, mask=self.mask.to(hidden.dtype), is_causal=True))


class Convnet(nn.Module):
    """Residual blocks of convolutions over small pictures."""

    def __init__(self, width: int = 256, blocks: int = 12) -> None:
        super().__init__()
        self.first = nn.Conv2d(3, width, 3, padding=1)
        self.blocks = nn.ModuleList(
            nn.Sequential(
                nn.BatchNorm2d(width),
                nn.ReLU(),
                nn.Conv2d(width, width, 3, padding=1),
                nn.BatchNorm2d(width),
                nn.ReLU(),
                nn.Conv2d(width, width, 3, padding=1),
            )
            for _ in range(blocks)
        )
        self.out = nn.Linear(width, 100)

    def forward(self, pictures: torch.Tensor) -> torch.Tensor:
        hidden = self.first(pictures)
        for block in self.blocks:
            hidden = hidden + block(hidden)
        return self.out(hidden.mean(dim=(2, 3)))


def batch(model: str, seed: int, step: int, device: str) -> tuple[torch.Tensor, torch.Tensor]:
    """The examples of a step: they depend on the seed and the step alone."""
    random = torch.Generator(device=device).manual_seed(seed * 1_000_003 + step)
    if model == "convnet":
        pictures = torch.randn(64, 3, 32, 32, generator=random, device=device)
        # Something that can be learned: where the picture is brightest.
        brightest = pictures.mean(dim=1).flatten(1).argmax(dim=1)
        return pictures, brightest % 100
    _, _, size, length = TRANSFORMERS[model]
    first = torch.randint(WORDS, (size, 1), generator=random, device=device)
    words = (first + 17 * torch.arange(length + 1, device=device)) % WORDS
    return words[:, :-1], words[:, 1:]


def build(model: str) -> nn.Module:
    if model == "convnet":
        return Convnet()
    width, layers, _, length = TRANSFORMERS[model]
    return Transformer(width, layers, length)


def settle(seed: int) -> None:
    """The same numbers in every run."""
    torch.manual_seed(seed)
    torch.use_deterministic_algorithms(True)
    torch.backends.cudnn.benchmark = False
    torch.backends.cuda.enable_flash_sdp(False)
    torch.backends.cuda.enable_mem_efficient_sdp(False)
    if hasattr(torch.backends.cuda, "enable_cudnn_sdp"):
        torch.backends.cuda.enable_cudnn_sdp(False)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", choices=["small", "large", "convnet"], default="small")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--steps", type=int, default=10**9)
    parser.add_argument("--seconds", type=float, default=1e9, help="stop after so many of stepping")
    parser.add_argument("--log", required=True)
    parser.add_argument("--save-to", help="its own checkpoint, taken up again when it starts")
    parser.add_argument("--save-every-s", type=float, default=5.0)
    options = parser.parse_args()

    log = open(options.log, "a", buffering=1)
    settle(options.seed)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    network = build(options.model).to(device)
    optimizer = torch.optim.AdamW(network.parameters(), lr=1e-4)
    step = 0
    if options.save_to and os.path.exists(options.save_to):
        saved = torch.load(options.save_to, map_location=device)
        network.load_state_dict(saved["network"])
        optimizer.load_state_dict(saved["optimizer"])
        step = saved["step"]
    log.write(json.dumps({"pid": os.getpid(), "begun": BEGUN, "from": step}) + "\n")
    since = saved_at = time.time()
    while step < options.steps and time.time() - since < options.seconds:
        inputs, wanted = batch(options.model, options.seed, step, device)
        with torch.autocast(device, dtype=torch.bfloat16):
            guesses = network(inputs)
            loss = nn.functional.cross_entropy(guesses.flatten(0, -2).float(), wanted.flatten())
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        line = {"step": step, "loss": loss.item().hex(), "t": time.time()}
        log.write(json.dumps(line) + "\n")
        step += 1
        if options.save_to and time.time() - saved_at > options.save_every_s:
            state = {
                "network": network.state_dict(),
                "optimizer": optimizer.state_dict(),
                "step": step,
            }
            torch.save(state, options.save_to + ".new")
            os.replace(options.save_to + ".new", options.save_to)
            saved_at = time.time()
    memory_mb = torch.cuda.max_memory_allocated() / 2**20 if device == "cuda" else 0
    log.write(json.dumps({"ended": time.time(), "memory_mb": memory_mb}) + "\n")


if __name__ == "__main__":
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    main()
