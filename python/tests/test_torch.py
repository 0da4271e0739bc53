"""The same with PyTorch, where it is: exact continuation, passes, ranks, and gradient noise."""

import contextlib
import copy
import importlib.util
import io
import os
import signal
import subprocess
import sys
import unittest

from support import EXAMPLES, PATIENCE_S, ROOT, Case

import heeler

HERE = importlib.util.find_spec("torch") is not None


def losses(out):
    lines = (line.split() for line in out.splitlines() if line.startswith("step "))
    return [(int(words[1]), words[3]) for words in lines]


@unittest.skipUnless(HERE, "PyTorch is not installed")
class WithTorch(Case):
    ARGUMENTS = ("torch_digits.py", "--epochs", "2", "--examples", "640")

    def test_losses_go_on_after_a_stop(self):
        whole = losses(self.run_whole(*self.ARGUMENTS, "--folder", str(self.folder / "a")))
        self.assertEqual(len(whole), 20)
        there = ("--folder", str(self.folder / "b"))
        first = self.start(*self.ARGUMENTS, "--pause", "0.1", *there)
        begin = [first.stdout.readline() for _ in range(4)]
        first.send_signal(signal.SIGTERM)
        begin = losses("".join(begin) + self.finish(first, code=143))
        self.assertLess(len(begin), 20)
        self.assertEqual(begin + losses(self.run_whole(*self.ARGUMENTS, *there)), whole)

    def test_several_ranks_stop_together_and_go_on(self):
        program = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node=2"]
        program += ["--master-port=0", "--rdzv-backend=c10d", "--rdzv-endpoint=127.0.0.1:0"]
        program += [str(EXAMPLES / "torch_digits.py"), *self.ARGUMENTS[1:]]
        env = {**os.environ, "PYTHONPATH": str(ROOT), "CUDA_VISIBLE_DEVICES": ""}

        def run(folder, shepherd=None):
            more = {"HEELER_SOCKET": shepherd.path, "HEELER_JOB": "4"} if shepherd else {}
            pause = "0.05" if shepherd else "0"
            where = ["--folder", str(self.folder / folder), "--pause", pause]
            process = subprocess.Popen(
                [*program, *where],
                env={**env, **more},
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            self.started.append(process)
            if shepherd:
                shepherd.wait_for(lambda word: word.get("report", {}).get("step", 0) > 0)
                shepherd.ask(request="save", stop=True, grace_s=10)
            out, err = process.communicate(timeout=PATIENCE_S)
            return losses(out), err

        whole, err = run("whole")
        self.assertEqual(len(whole), 20, err)
        shepherd = self.shepherd()
        begin, err = run("parts", shepherd)
        step = shepherd.wait_for(lambda word: "saved" in word)["saved"]["step"]
        self.assertEqual(len(begin), step, err)
        self.assertLess(step, 20)
        rest, err = run("parts")
        self.assertEqual(begin + rest, whole, err)


@unittest.skipUnless(HERE, "PyTorch is not installed")
class Gluing(Case):
    def model(self, **options):
        import torch

        torch.manual_seed(1)
        model = torch.nn.Linear(3, 1)
        opt = torch.optim.SGD(model.parameters(), lr=0.1)
        sched = torch.optim.lr_scheduler.StepLR(opt, step_size=2, gamma=0.5)
        state = {"model": model, "opt": opt, "sched": sched}
        job = heeler.init(state, folder=self.folder / str(len(options)) / "c", **options)
        chance = torch.Generator().manual_seed(2)
        inputs, answers = torch.randn(64, 3, generator=chance), torch.randn(64, 1, generator=chance)
        data = torch.utils.data.TensorDataset(inputs, answers)
        return model, opt, sched, job, data

    def train(self, most, zero_first):
        import shutil

        import torch

        shutil.rmtree(self.folder / "0", ignore_errors=True)
        model, opt, sched, job, data = self.model()
        for _ in job.epochs(2):
            for inputs, answers in job.loader(data, 16, most=most):
                if zero_first:
                    opt.zero_grad()
                torch.nn.functional.mse_loss(model(inputs), answers).backward()
                opt.step()
                sched.step()
                if not zero_first:
                    opt.zero_grad()
                job.step()
        self.assertEqual(job.steps, 8)
        self.assertEqual(sched.last_epoch, 8, "the rate follows steps, not passes")
        return torch.cat([p.detach().flatten() for p in model.parameters()])

    def test_several_passes_do_what_one_does(self):
        import torch

        whole = self.train(None, True)
        for most, zero_first in ((8, True), (4, True), (4, False)):
            parts = self.train(most, zero_first)
            self.assertTrue(torch.allclose(whole, parts, atol=1e-6), f"{most} {zero_first}")

    def test_noise_is_measured_and_the_rate_follows(self):
        import torch

        model, opt, _, job, data = self.model(batch=(8, 64, 4, 8), lr_rule="linear")
        job.batch = heeler.Batch(32, 4)
        rates = []
        kept = torch.optim.SGD.step
        expected = []
        for _ in job.epochs(1):
            parts = []
            for inputs, answers in job.loader(data):
                opt.zero_grad()
                loss = torch.nn.functional.mse_loss(model(inputs), answers)
                twin = copy.deepcopy(model)
                twin_loss = torch.nn.functional.mse_loss(twin(inputs), answers)
                grads = torch.autograd.grad(twin_loss, list(twin.parameters()))
                parts.append(torch.cat([g.flatten() for g in grads]))
                loss.backward()
                before = [p.detach().clone() for p in model.parameters()]
                opt.step()
                if job.sync:
                    stack = torch.stack(parts)
                    mean = stack.mean(0)
                    c, s = len(parts), 4.0
                    squares = stack.pow(2).sum(1).mean().item()
                    expected.append((squares - mean.pow(2).sum().item()) * s / (c - 1))
                    moved = torch.cat(
                        [(b - p.detach()).flatten() for b, p in zip(before, model.parameters())]
                    )
                    rates.append((moved / mean).mean().item())
                    parts = []
                job.step(loss=loss)
        self.assertEqual(len(rates), 2)
        self.assertIs(torch.optim.SGD.step, kept, "only this optimiser is taken over")
        for rate in rates:
            self.assertAlmostEqual(rate, 0.1 * 4.0, places=4)
        self.assertEqual(opt.param_groups[0]["lr"], 0.1)
        # The last step is looked at in the one after it.
        self.assertAlmostEqual(job.noise.var, expected[0], places=5)

    def test_a_model_that_changed_is_told(self):
        import torch

        model, _, _, job, _ = self.model()
        job.step()
        job.save()
        with contextlib.redirect_stderr(io.StringIO()), self.assertRaises(RuntimeError):
            heeler.init({"model": torch.nn.Linear(4, 1)}, folder=self.folder / "0" / "c")


if __name__ == "__main__":
    unittest.main()
