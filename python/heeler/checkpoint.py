"""Checkpoints on disk: written whole or not at all, the latest few kept, torn ones passed over.

A checkpoint is a folder ``step-000000000123`` with ``state`` (written by rank 0), ``rank-K``
for each rank, and ``checkpoint.json`` with the size and checksum of each. It is written under
another name and renamed when everything in it is safe on disk.
"""

import io
import json
import os
import pickle
import shutil
import sys
import time
import zlib
from pathlib import Path
from typing import Any, Dict, List, Optional, Tuple, Union

#: The version of what is written.
VERSION = 1

_LIST = "checkpoint.json"
_CHUNK = 1 << 20


class CheckpointError(RuntimeError):
    """There are checkpoints, but none can be read."""


class Store:
    """The checkpoints in a folder.

    ``rank`` and ``world`` say who is writing; all ranks must see the same folder. A checkpoint is
    read with ``pickle``, so a folder that others can write to is as good as their code in yours.
    """

    def __init__(
        self,
        folder: Union[str, Path],
        rank: int = 0,
        world: int = 1,
        keep: int = 2,
        incarnation: str = "0",
    ) -> None:
        if keep < 1:
            raise ValueError(f"keep should be at least 1, not {keep}")
        self.folder = Path(folder)
        self.rank = rank
        self.world = world
        self.keep = keep
        self._incarnation = incarnation
        self._saves = 0
        self.folder.mkdir(parents=True, exist_ok=True)
        if rank == 0:
            self._sweep()

    def save(self, step: int, state: Any, own: Any, wait_s: float = 60.0) -> bool:
        """Save: ``state`` is written by rank 0, ``own`` by each rank. All ranks must call it.

        Says whether it is safe on disk; if it is not, a line on stderr says why. Rank 0 waits up
        to ``wait_s`` for what others write, and leaves out who is later; they wait for it in turn.
        """
        self._saves += 1
        target = self.folder / f"step-{step:012d}"
        draft = self.folder / f".saving-{self._incarnation}-{self._saves}"
        try:
            draft.mkdir(exist_ok=True)
            _write(draft, f"rank-{self.rank}", own)
            if self.rank == 0:
                _write(draft, "state", state)
                self._close(draft, target, step, wait_s)
        except OSError as why:
            print(f"heeler: step {step} could not be saved: {why}", file=sys.stderr)
            if self.rank == 0:
                shutil.rmtree(draft, ignore_errors=True)
        # Whoever ends before rank 0 is done might have it ended, too, by what started them.
        until = time.monotonic() + wait_s
        while draft.exists() and time.monotonic() < until:
            time.sleep(0.002)
        return (target / _LIST).exists()

    def _close(self, draft: Path, target: Path, step: int, wait_s: float) -> None:
        """Wait for all parts, write the list of them, give the checkpoint its name."""
        parts = {"state": _read_note(draft, "state")}
        until = time.monotonic() + wait_s
        for rank in range(self.world):
            note = draft / f"rank-{rank}.note"
            while not note.exists() and time.monotonic() < until:
                time.sleep(0.002)
            if note.exists():
                parts[f"rank-{rank}"] = _read_note(draft, f"rank-{rank}")
        for note in draft.glob("*.note"):
            note.unlink()
        listed = {"version": VERSION, "step": step, "world": self.world, "parts": parts}
        _put(draft / _LIST, json.dumps(listed, indent=1).encode())
        _sync_folder(draft)
        if target.exists():
            shutil.rmtree(target)
        os.rename(draft, target)
        _sync_folder(self.folder)
        for old in self.steps()[self.keep :]:
            shutil.rmtree(self.folder / f"step-{old:012d}", ignore_errors=True)

    def load(self) -> Optional[Tuple[int, Any, Optional[Any]]]:
        """The latest checkpoint that is whole: its step, the state, and what this rank saved.

        Nothing, if there are none. Torn ones are passed over with a line on stderr; if all are
        torn, that is an error, because to begin anew in silence would lose work.
        """
        steps = self.steps()
        for step in steps:
            folder = self.folder / f"step-{step:012d}"
            try:
                listed = json.loads((folder / _LIST).read_bytes())
                if listed["version"] > VERSION:
                    raise ValueError(f"written by a later heeler (version {listed['version']})")
                state = _read(folder, "state", listed["parts"]["state"])
                name = f"rank-{self.rank}"
                part = listed["parts"].get(name)
                own = None if part is None else _read(folder, name, part)
                return step, state, own
            except (OSError, ValueError, KeyError, TypeError, EOFError, pickle.PickleError) as why:
                print(f"heeler: {folder} is passed over: {why}", file=sys.stderr)
        if steps:
            raise CheckpointError(
                f"none of the {len(steps)} checkpoints in {self.folder} can be read; "
                "remove the folder to begin anew"
            )
        return None

    def steps(self) -> List[int]:
        """Steps of the checkpoints that are there, latest first."""
        names = (path.name for path in self.folder.glob("step-*"))
        steps = [name[5:] for name in names]
        return sorted((int(step) for step in steps if step.isdigit()), reverse=True)

    def _sweep(self) -> None:
        """Remove what was being written when an earlier start was cut off."""
        for draft in self.folder.glob(".saving-*"):
            shutil.rmtree(draft, ignore_errors=True)


class _Summing(io.RawIOBase):
    """A file that adds up what is written to it."""

    def __init__(self, file: Any) -> None:
        super().__init__()
        self._file = file
        self.bytes = 0
        self.crc = 0

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        view = memoryview(data).cast("B")
        self._file.write(view)
        self.bytes += len(view)
        self.crc = zlib.crc32(view, self.crc)
        return len(view)

    def flush(self) -> None:
        if not self._file.closed:
            self._file.flush()


def _write(folder: Path, name: str, what: Any) -> None:
    """Write a part, and when it is safe a note of its size and checksum."""
    with open(folder / name, "wb") as file:
        summing = _Summing(file)
        torch = sys.modules.get("torch")
        if torch is not None:
            torch.save(what, summing)
        else:
            pickle.dump(what, summing, protocol=4)
        summing.flush()
        os.fsync(file.fileno())
    kind = "pickle" if torch is None else "torch"
    note: Dict[str, Any] = {"bytes": summing.bytes, "crc": summing.crc, "kind": kind}
    _put(folder / f"{name}.note", json.dumps(note).encode())


def _read_note(folder: Path, name: str) -> Dict[str, Any]:
    note: Dict[str, Any] = json.loads((folder / f"{name}.note").read_bytes())
    return note


def _read(folder: Path, name: str, note: Dict[str, Any]) -> Any:
    """Read a part that is as its note says."""
    path = folder / name
    size, crc = 0, 0
    with open(path, "rb") as file:
        while chunk := file.read(_CHUNK):
            size, crc = size + len(chunk), zlib.crc32(chunk, crc)
        if (size, crc) != (note["bytes"], note["crc"]):
            raise ValueError(f"{name} is torn ({size} of {note['bytes']} bytes, or altered)")
        file.seek(0)
        if note["kind"] == "torch":
            import torch

            # To the CPU: the GPU that it was saved from may not be there now.
            return torch.load(file, map_location="cpu", weights_only=False)
        return pickle.load(file)


def _put(path: Path, data: bytes) -> None:
    """A small file, whole or not at all."""
    draft = path.with_name(f".{path.name}.draft")
    with open(draft, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    os.rename(draft, path)


def _sync_folder(folder: Path) -> None:
    """Make names in a folder safe, too."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
