"""What the logs of jobs come to: seconds lost at each switch, how fast each went, and whether its
losses are those of a run that nobody disturbed.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from statistics import mean, median
from typing import Any


@dataclass
class Log:
    """What a job wrote."""

    starts: list[dict[str, Any]] = field(default_factory=list)
    steps: list[tuple[int, str, float]] = field(default_factory=list)
    ended: dict[str, Any] | None = None

    @staticmethod
    def read(path: str) -> Log:
        log = Log()
        if not os.path.exists(path):
            return log
        with open(path) as file:
            for line in file:
                try:
                    row = json.loads(line)
                except ValueError:
                    continue  # a line that was cut when the job was killed
                if "step" in row:
                    log.steps.append((row["step"], row["loss"], row["t"]))
                elif "pid" in row:
                    log.starts.append(row)
                elif "ended" in row:
                    log.ended = row
        return log

    def losses(self) -> dict[int, str]:
        return {step: loss for step, loss, _ in self.steps}

    def step_s(self) -> float:
        """What a step takes when nothing happens."""
        times = [t for _, _, t in self.steps]
        gaps = [b - a for a, b in zip(times, times[1:])]
        return median(gaps) if gaps else 0.0

    def progress(self) -> list[float]:
        """When each step was done for the first time."""
        furthest, times = -1, []
        for step, _, t in self.steps:
            if step > furthest:
                furthest = step
                times.append(t)
        return times


def same_losses(log: Log, alone: Log) -> dict[str, Any]:
    """Whether every step gave the loss of the undisturbed run, and none is missing."""
    wanted, got = alone.losses(), log.losses()
    common = sorted(set(wanted) & set(got))
    differ = [step for step, loss, _ in log.steps if wanted.get(step, loss) != loss]
    missing = sorted(set(range(max(got, default=-1) + 1)) - set(got))
    return {
        "compared": len(common),
        "differ": len(differ),
        "missing": len(missing),
        "first_difference": differ[0] if differ else None,
        "equal": bool(common) and not differ and not missing,
    }


def switches(logs: dict[str, Log], since: float = 0.0) -> list[dict[str, Any]]:
    """Where one job's progress ends and another's begins: the seconds between, less a step. A
    job's very first step is left out, since starting it is no switch."""
    events = sorted((t, name) for name, log in logs.items() for t in log.progress() if t > since)
    firsts = {name: min(log.progress(), default=0.0) for name, log in logs.items()}
    found = []
    for (left, before), (reached, after) in zip(events, events[1:]):
        if before != after and reached != firsts[after]:
            lost = max(0.0, reached - left - logs[after].step_s())
            found.append({"from": before, "to": after, "lost_s": lost, "at": reached})
    return found


def sharing(
    logs: dict[str, Log], alone: dict[str, Log], turns_since: float | None = 0.0
) -> dict[str, Any]:
    """The figures of jobs that shared a GPU, in turns since then, or side by side (none). Speeds
    are over the time since all had begun."""
    begun = [log.progress()[0] for log in logs.values() if log.progress()]
    all_there = len(begun) == len(logs)
    ends = [log.progress()[-1] for log in logs.values() if log.progress()]
    since, until = max([*begun, turns_since or 0.0]), max(ends, default=0.0)
    found = [] if turns_since is None else switches(logs, turns_since)
    lost = [one["lost_s"] for one in found]
    jobs = {}
    for name, log in logs.items():
        done = [t for t in log.progress() if since < t <= until]
        rate = len(done) / (until - since) if all_there and until > since else 0.0
        bare = 1.0 / alone[name].step_s() if alone[name].step_s() else 0.0
        jobs[name] = {
            "steps": len(log.progress()),
            "redone": len(log.steps) - len(log.progress()),
            "starts": len(log.starts),
            "steps_per_s": rate,
            "alone_steps_per_s": bare,
            "part_of_alone": rate / bare if bare else 0.0,
            "losses": same_losses(log, alone[name]),
        }
    return {
        "switches": None if turns_since is None else len(found),
        "lost_s_mean": mean(lost) if lost else None,
        "lost_s_median": median(lost) if lost else None,
        "lost_s_max": max(lost) if lost else None,
        "together": sum(job["part_of_alone"] for job in jobs.values()),
        "over_s": max(0.0, until - since),
        "losses_equal": all(job["losses"]["equal"] for job in jobs.values()),
        "jobs": jobs,
    }


def attempts(views: list[dict[str, Any]]) -> dict[str, Any]:
    """What the server itself measured, by how stretches ended."""
    stops: dict[str, list[float]] = {}
    starts: list[float] = []
    for view in views:
        for number, one in enumerate(view.get("attempts", [])):
            if one.get("stop-s") is not None:
                stops.setdefault(one.get("end") or "?", []).append(one["stop-s"])
            if number > 0 and one.get("start-s") is not None:
                starts.append(one["start-s"])
    return {
        "stop_s": {end: {"mean": mean(all_), "count": len(all_)} for end, all_ in stops.items()},
        "start_s": {"mean": mean(starts), "count": len(starts)} if starts else None,
    }


def _number(value: Any, digits: int = 2) -> str:
    return "–" if value is None else f"{value:.{digits}f}"


def _sharing_rows(results: dict[str, Any]) -> list[str]:
    rows = [
        "| recipe | way | jobs | turn | switches | lost per switch (median, most) "
        "| server: stop, start | each against alone | together | GPU memory (median, most) "
        "| losses as alone |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for one in results.get("sharing", {}).values():
        if "error" in one:
            rows.append(
                f"| {one['recipe']} | {one['way']} | {one['count']} | – | failed: "
                f"{str(one['error'])[:120]!r} | | | | | | |"
            )
            continue
        stops = ", ".join(
            f"{end} {_number(stop['mean'])} s" for end, stop in one["server"]["stop_s"].items()
        )
        start = one["server"]["start_s"]
        parts = ", ".join(_number(job["part_of_alone"]) for job in one["jobs"].values())
        memory = one.get("memory_mb") or {}
        compared = sum(job["losses"]["compared"] for job in one["jobs"].values())
        verdict = "yes" if one["losses_equal"] else "NO"
        rows.append(
            f"| {one['recipe']} | {one['way']} | {one['count']} | {one['turn']} "
            f"| {_number(one['switches'], 0)} | {_number(one['lost_s_median'])} s, "
            f"{_number(one['lost_s_max'])} s | {stops or '–'}; "
            f"{_number(start and start['mean'])} s | {parts} | {_number(one['together'])} "
            f"| {_number(memory.get('median'), 0)}, {_number(memory.get('most'), 0)} MB "
            f"| {verdict} ({compared} steps) |"
        )
    return rows


def markdown(results: dict[str, Any]) -> str:
    """The tables of a page."""
    machine = results.get("machine", {})
    lines = [f"Machine: {machine.get('gpu', 'no GPU')}, {machine.get('cpus')} cores, ", ""]
    lines[0] += f"PyTorch {machine.get('torch', 'none')}; jobs: {machine.get('jobs')}."
    if "alone" in results:
        lines += ["| job | steps/s alone | ms a step | start to first step | memory |"]
        lines += ["|---|---|---|---|---|"]
        for name, one in results["alone"].items():
            lines.append(
                f"| {name} | {_number(one['steps_per_s'])} | {_number(1e3 * one['step_s'])} "
                f"| {_number(one['start_s'])} s | {_number(one['memory_mb'], 0)} MB |"
            )
        lines.append("")
    if "micro" in results:
        lines += [
            "| on the GPU | lock | checkpoint | restore | unlock "
            "| memory before, suspended, after | contents |",
            "|---|---|---|---|---|---|---|",
        ]
        for name, one in results["micro"].items():
            if "error" in one:
                lines.append(f"| {name} | failed: {str(one['error'])[:160]!r} | | | | | |")
                continue
            steps = one["steps_ms"]
            cells = " | ".join(
                f"{_number(median(steps[step]), 0)} ms" if steps.get(step) else "–"
                for step in ("lock", "checkpoint", "restore", "unlock")
            )
            memory = ", ".join(_number(one["memory_mb"].get(k), 0) for k in ("0", "1", "2"))
            contents = "same" if one["same"] else "CHANGED"
            lines.append(f"| {name} | {cells} | {memory} MB | {contents} |")
        lines.append("")
    lines += _sharing_rows(results)
    if results.get("notes"):
        lines += ["", "Notes:", ""] + [f"- {note}" for note in results["notes"]]
    return "\n".join(lines) + "\n"
