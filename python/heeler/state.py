"""Taking a job's state out of its objects and putting it back, and the same for chance."""

import copy
import random
import sys
from typing import Any, Dict, Mapping, Optional


def check(state: Mapping[str, Any]) -> None:
    """Refuse what cannot be put back later."""
    for name, thing in state.items():
        if not isinstance(name, str):
            raise TypeError(f"names in state should be text, not {name!r}")
        if not (_has_own(thing) or isinstance(thing, (dict, list)) or _is_array(thing)):
            raise TypeError(
                f"state[{name!r}] is a {type(thing).__name__}; it should have state_dict() and "
                "load_state_dict(), or be a dict, a list or an array that can be filled in place"
            )


def take(state: Mapping[str, Any]) -> Dict[str, Any]:
    """What should be saved."""
    return {name: thing.state_dict() if _has_own(thing) else thing for name, thing in state.items()}


def put(state: Mapping[str, Any], saved: Mapping[str, Any]) -> None:
    """Put back what was saved, into the same objects."""
    missing = sorted(set(state) - set(saved))
    if missing:
        raise KeyError(
            f"the checkpoint has no {', '.join(missing)}; it was saved by another version of the "
            "script: remove the folder to begin anew"
        )
    for name, thing in state.items():
        value = saved[name]
        if _has_own(thing):
            thing.load_state_dict(value)
        elif isinstance(thing, dict):
            thing.clear()
            thing.update(copy.deepcopy(value))
        elif isinstance(thing, list):
            thing[:] = copy.deepcopy(value)
        else:
            thing[...] = value


def _has_own(thing: Any) -> bool:
    return callable(getattr(thing, "state_dict", None)) and callable(
        getattr(thing, "load_state_dict", None)
    )


def _is_array(thing: Any) -> bool:
    return hasattr(thing, "shape") and hasattr(thing, "__setitem__")


def take_chance() -> Dict[str, Any]:
    """The state of all random streams that this process has."""
    chance: Dict[str, Any] = {"python": random.getstate()}
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        chance["numpy"] = numpy.random.get_state()
    torch = sys.modules.get("torch")
    if torch is not None:
        chance["torch"] = torch.get_rng_state()
        if torch.cuda.is_available() and torch.cuda.is_initialized():
            chance["cuda"] = torch.cuda.get_rng_state()
    return chance


def put_chance(chance: Optional[Mapping[str, Any]], otherwise: str) -> None:
    """Put random streams back; a rank that has none saved begins streams named ``otherwise``."""
    numpy, torch = sys.modules.get("numpy"), sys.modules.get("torch")
    if chance is None:
        random.seed(otherwise)
        seed = random.Random(otherwise).getrandbits(32)
        if numpy is not None:
            numpy.random.seed(seed)
        if torch is not None:
            torch.manual_seed(seed)
        return
    random.setstate(chance["python"])
    if numpy is not None and "numpy" in chance:
        numpy.random.set_state(chance["numpy"])
    if torch is not None and "torch" in chance:
        torch.set_rng_state(chance["torch"])
        if "cuda" in chance and torch.cuda.is_available():
            torch.cuda.set_rng_state(chance["cuda"])
