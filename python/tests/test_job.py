"""Jobs as a script sees them: saving when asked, going on exactly, and never minding the line."""

import contextlib
import io
import os
import random
import signal
import time
import unittest
import zipfile

from support import PATIENCE_S, ROOT, Case

import heeler
from heeler.link import Link


def losses(out):
    """What an example printed, by step."""
    lines = (line.split() for line in out.splitlines() if line.startswith("step "))
    return [(int(words[1]), words[3]) for words in lines]


class Continuing(Case):
    """The losses of a run that was stopped and started are those of one that was not."""

    ARGUMENTS = ("plain.py", "--epochs", "4", "--examples", "120", "--batch", "16")

    def setUp(self):
        super().setUp()
        self.whole = losses(self.run_whole(*self.ARGUMENTS, "--folder", str(self.folder / "whole")))
        self.assertEqual(len(self.whole), 32)
        self.there = {"HEELER_CHECKPOINT_DIR": str(self.folder / "there"), "HEELER_JOB": "7"}

    def slowly(self, **env):
        """Start the same run, slow enough to be interrupted."""
        return self.start(*self.ARGUMENTS, "--pause", "0.05", **self.there, **env)

    def await_step(self, process, step):
        """Read until a step from this one on was printed, and not the first; give what was read."""
        read = []
        for line in process.stdout:
            read.append(line)
            if len(losses("".join(read))) > 1 and losses(line)[0][0] >= step:
                return "".join(read)
        raise AssertionError(f"no step {step}: {read} {process.stderr.read()}")

    def test_after_the_shepherd_asked(self):
        shepherd = self.shepherd()
        first = self.slowly(HEELER_SOCKET=shepherd.path, HEELER_GENERATION="1")
        begin = self.await_step(first, 3)
        shepherd.ask(request="save", stop=True, grace_s=10)
        saved = shepherd.wait_for(lambda word: "saved" in word)
        out = begin + self.finish(first, code=heeler.stop.STOPPED)
        self.assertEqual(saved, {"saved": {"step": len(losses(out))}})
        self.assertLess(len(losses(out)), 32)

        second = self.run_whole(*self.ARGUMENTS, **self.there, HEELER_GENERATION="2")
        self.assertEqual(losses(out) + losses(second), self.whole)
        self.assertIn("done after 32 steps", second)

    def test_after_a_signal(self):
        first = self.slowly()
        begin = self.await_step(first, 1)
        first.send_signal(signal.SIGTERM)
        out = begin + self.finish(first, code=143)
        second = self.run_whole(*self.ARGUMENTS, **self.there)
        self.assertEqual(losses(out) + losses(second), self.whole)

    def test_after_several_interruptions_in_any_place(self):
        seen = []
        for step in (3, 8, 9, 16):
            process = self.slowly()
            begin = self.await_step(process, step)
            process.send_signal(signal.SIGTERM)
            seen += losses(begin + self.finish(process, code=143))
        seen += losses(self.run_whole(*self.ARGUMENTS, **self.there))
        self.assertEqual(seen, self.whole)

    def test_after_being_killed_in_a_save(self):
        first = self.slowly()
        self.await_step(first, 1)
        first.send_signal(signal.SIGTERM)
        self.finish(first, code=143)
        (saved,) = (self.folder / "there").glob("step-*")
        # What is left when the next save is cut off by a power loss.
        torn = saved.with_name("step-000000000020")
        torn.mkdir()
        for file in saved.iterdir():
            (torn / file.name).write_bytes(file.read_bytes()[:-3])
        second = self.run_whole(*self.ARGUMENTS, **self.there)
        self.assertEqual(losses(second), self.whole[int(saved.name[5:]) :])

    def test_a_job_that_is_done_stays_done(self):
        self.run_whole(*self.ARGUMENTS, **self.there)
        self.assertEqual(self.run_whole(*self.ARGUMENTS, **self.there), "done after 32 steps\n")


class Talking(Case):
    """What a job and its shepherd say to each other."""

    def job(self, **options):
        shepherd = self.shepherd()
        os.environ.update(HEELER_SOCKET=shepherd.path, HEELER_JOB="3")
        job = heeler.init(folder=self.folder / "c", **options)
        self.addCleanup(job._link.close)
        return shepherd, job

    def test_it_reports_what_the_server_reads(self):
        shepherd, job = self.job(report_every_s=0.0)
        hello = shepherd.wait_for(lambda word: "report" in word)["report"]
        self.assertEqual((hello["step"], hello["saves"]), (0, True))
        for _ in job.epochs(2):
            for _batch in job.loader(range(40), 10):
                job.step(loss=0.5, score=float("nan"))
        last = shepherd.wait_for(lambda word: word["report"]["step"] == 8)["report"]
        self.assertEqual((last["loss"], last["samples"], last["batch"]), (0.5, 80, [10, 1]))
        self.assertNotIn("score", last, "what is no number is left out")
        done = shepherd.wait_for(lambda word: word["report"].get("saved-step") == 8)["report"]
        self.assertEqual((done["epoch"], done["step"]), (2.0, 8))
        self.assertGreater(done["start-s"], 0.0)
        numbers = [word["report"]["seq"] for word in shepherd.heard]
        self.assertEqual(numbers, sorted(set(numbers)))

    def test_regimes_are_told(self):
        shepherd, job = self.job(report_every_s=0.0)
        for epoch in job.epochs(2):
            job.regime = epoch
            for _batch in job.loader(range(40), 10):
                job.step()
        last = shepherd.wait_for(lambda word: word["report"]["step"] == 8)["report"]
        self.assertEqual((last["regime"], last["step"]), (1, 8))

    def test_how_long_it_will_be_is_told(self):
        shepherd, job = self.job(report_every_s=0.0)
        for _ in job.epochs(3):
            for _batch in job.loader(range(40), 10):
                job.step()
                break
            break
        report = shepherd.wait_for(lambda word: word["report"]["step"] == 1)["report"]
        self.assertEqual((report["total-steps"], report["epoch"]), (12, 0.25))

    def test_reports_are_not_too_many(self):
        shepherd, job = self.job(report_every_s=3600.0)
        for _ in range(200):
            job.step(loss=1.0)
        job.finish()
        shepherd.wait_for(lambda word: word["report"]["step"] == 200)
        self.assertLessEqual(len(shepherd.heard), 3)

    def test_a_request_to_save_without_stopping(self):
        shepherd, job = self.job()
        job.step()
        shepherd.ask(request="save", stop=False, grace_s=5)
        until = time.monotonic() + PATIENCE_S
        while job._store.steps() == [] and time.monotonic() < until:
            job.step()
            time.sleep(0.005)
        saved = shepherd.wait_for(lambda word: "saved" in word)["saved"]["step"]
        self.assertEqual(job._store.steps(), [saved])
        job.step()

    def test_another_size_means_save_and_stop(self):
        shepherd, job = self.job()
        job.step()
        shepherd.ask(request="resize", gpus=4)
        with self.assertRaises(heeler.Stop) as stopped:
            until = time.monotonic() + PATIENCE_S
            while time.monotonic() < until:
                job.step()
                time.sleep(0.005)
        self.assertEqual(stopped.exception.code, 143)
        shepherd.wait_for(lambda word: word.get("saved") == {"step": stopped.exception.step})

    def test_what_is_not_understood_is_left_alone(self):
        shepherd, job = self.job()
        nonsense = b'{"request":"dance"}\n[]\n\xff\xfe\n{"request":["save"]}\n3\n\n{"stop":true}\n'
        shepherd.send(nonsense)
        shepherd.ask(request="save", stop=True, grace_s="soon")
        with self.assertRaises(heeler.Stop):
            until = time.monotonic() + PATIENCE_S
            while time.monotonic() < until:
                job.step()
                time.sleep(0.005)

    def test_a_shepherd_that_goes_away_is_found_again(self):
        shepherd = self.shepherd()
        link = Link(shepherd.path, retry_s=0.01)
        self.addCleanup(link.close)
        link.report({"step": 1})
        shepherd.wait_for(lambda word: word == {"report": {"step": 1}})
        shepherd.hang_up()
        for step in range(2, 50):
            link.report({"step": step})
        link.say({"saved": {"step": 49}})
        shepherd.come_back()
        shepherd.wait_for(lambda word: word == {"report": {"step": 49}})
        shepherd.wait_for(lambda word: word == {"saved": {"step": 49}})

    def test_a_shepherd_that_was_never_there_holds_up_nothing(self):
        os.environ.update(HEELER_SOCKET=str(self.folder / "nobody"))
        job = heeler.init(folder=self.folder / "c", report_every_s=0.0)
        for _ in range(1000):
            job.step(loss=1.0)
        self.assertIsNone(job._link.asked())
        self.assertFalse(job._link.flush(0.05))


class Alone(Case):
    """Without Heeler, everything works and checkpoints go to a folder."""

    def test_what_is_in_the_state_comes_back(self):
        numbers, table = [1.0, 2.0], {"a": [1]}
        job = heeler.init({"numbers": numbers, "table": table}, folder=self.folder)
        job.step()
        numbers.append(3.0)
        table["a"].append(2)
        random.seed(9)
        job.save()
        expected = random.random()

        numbers, table = [0.0], {"b": 3}
        with contextlib.redirect_stderr(io.StringIO()):
            job = heeler.init({"numbers": numbers, "table": table}, folder=self.folder)
        self.assertEqual((numbers, table), ([1.0, 2.0, 3.0], {"a": [1, 2]}))
        random.random()
        for _ in job.epochs(1):
            self.assertEqual(random.random(), expected, "chance goes on where it was")
            break

    def test_to_begin_anew(self):
        job = heeler.init(folder=self.folder)
        job.step()
        job.save()
        self.assertEqual(heeler.init(folder=self.folder, resume=False).steps, 0)

    def test_it_saves_now_and_then(self):
        job = heeler.init(folder=self.folder, save_every_s=0.0)
        for _ in range(5):
            job.step()
        self.assertEqual(job._store.steps(), [5, 4])

    def test_what_cannot_be_put_back_is_refused(self):
        with self.assertRaisesRegex(TypeError, r"state\['rate'\] is a float"):
            heeler.init({"rate": 0.1}, folder=self.folder)

    def test_a_script_that_changed_is_told(self):
        job = heeler.init({"a": [1]}, folder=self.folder)
        job.step()
        job.save()
        with self.assertRaisesRegex(KeyError, "has no b"):
            heeler.init({"a": [1], "b": [2]}, folder=self.folder)

    def test_a_save_that_fails_does_not_stop_training(self):
        job = heeler.init(folder=self.folder, save_every_s=0.0)
        job._store.folder = self.folder / "not" / "there"
        said = io.StringIO()
        with contextlib.redirect_stderr(said):
            job.step()
            job._wanted = 2
            job.step()
        self.assertEqual(job.steps, 2)
        self.assertIn("could not be saved", said.getvalue())

    def test_two_loaders_in_one_epoch(self):
        job = heeler.init(folder=self.folder)
        seen = []
        for _ in job.epochs(2):
            for name, count in (("a", 6), ("b", 4)):
                seen += [len(b) for b in job.loader(range(count), 2, name=name)]
        self.assertEqual(seen, [2] * 10)


RANK = """
import sys, time, heeler
done = [0]
job = heeler.init(state={"done": done}, save_every_s=None)
for epoch in job.epochs(2000):
    for batch in job.loader(range(40), 8):
        done[0] += 1
        # Ranks that wait for each other in every step, by files.
        mine = sys.argv[1] + f"/{job.steps}-{job.rank}"
        open(mine, "w").close()
        for other in range(job.world):
            until = time.monotonic() + 50
            while not __import__("os").path.exists(sys.argv[1] + f"/{job.steps}-{other}"):
                assert time.monotonic() < until, "a rank left the others behind"
                time.sleep(0.0005)
        job.step(loss=1.0)
"""


class Together(Case):
    """Several ranks stop after the same step."""

    def start_all(self, world, generation, steps, **env):
        steps.mkdir(exist_ok=True)
        common = {
            "HEELER_JOB": "9",
            "HEELER_GENERATION": generation,
            "HEELER_CHECKPOINT_DIR": str(self.folder / "c"),
            "WORLD_SIZE": str(world),
            **env,
        }
        return [self.start(RANK, str(steps), RANK=str(rank), **common) for rank in range(world)]

    def test_they_stop_when_the_shepherd_asks(self):
        shepherd = self.shepherd()
        ranks = self.start_all(3, "1", self.folder / "s1", HEELER_SOCKET=shepherd.path)
        shepherd.wait_for(lambda word: word.get("report", {}).get("step", 0) > 0)
        shepherd.ask(request="save", stop=True, grace_s=30)
        for process in ranks:
            self.finish(process, code=143)
        step = shepherd.wait_for(lambda word: "saved" in word)["saved"]["step"]
        store = heeler.Store(self.folder / "c", 2, 3)
        saved_step, saved, own = store.load()
        self.assertEqual((saved_step, saved["state"]["done"]), (step, [step]))
        self.assertIsNotNone(own, "every rank's part is there")

        # Two ranks go on from there.
        ranks = self.start_all(2, "2", self.folder / "s2", HEELER_SOCKET=shepherd.path)
        shepherd.wait_for(lambda word: word.get("report", {}).get("step", 0) > step)
        for process in ranks:
            process.send_signal(signal.SIGTERM)
        for process in ranks:
            self.finish(process, code=143)
        self.assertGreater(heeler.Store(self.folder / "c").load()[0], step)

    def test_a_signal_to_one_stops_all(self):
        ranks = self.start_all(2, "1", self.folder / "s1")
        until = time.monotonic() + PATIENCE_S
        while not (self.folder / "s1" / "3-1").exists() and time.monotonic() < until:
            time.sleep(0.01)
        ranks[1].send_signal(signal.SIGTERM)
        for process in ranks:
            self.finish(process, code=143)


class Packaging(Case):
    def test_it_needs_nothing_beside_python(self):
        script = "import sys, heeler, heeler.client; print({'torch', 'numpy'} & set(sys.modules))"
        self.assertEqual(self.run_whole(script), "set()\n")

    def test_the_adaptive_example_runs(self):
        out = self.run_whole("adaptive.py", "--epochs", "2", "--folder", str(self.folder))
        self.assertIn("epoch 1 step", out)

    def test_a_wheel_is_made_from_nothing(self):
        import wheel_builder

        name = wheel_builder.build_wheel(str(self.folder))
        with zipfile.ZipFile(self.folder / name) as wheel:
            self.assertIsNone(wheel.testzip())
            names = set(wheel.namelist())
            record = wheel.read(f"heeler-{heeler.__version__}.dist-info/RECORD").decode()
        self.assertEqual(names, {line.split(",")[0] for line in record.splitlines()})
        self.assertLessEqual({"heeler/job.py", "heeler/py.typed"}, names)
        # What is in the wheel is all that is needed.
        script = "import heeler, heeler.client; print(heeler.__file__)"
        out = self.run_whole(script, PYTHONPATH=str(self.folder / name))
        self.assertIn(".whl/heeler/__init__.py", out)

    def test_the_version_is_that_of_the_project(self):
        text = (ROOT / "pyproject.toml").read_text()
        self.assertIn(f'version = "{heeler.__version__}"', text)


if __name__ == "__main__":
    unittest.main()
