"""Sharing out examples: each once in an epoch, whatever the number of ranks and when it changes."""

import os
import random
import shutil
import unittest
from collections import Counter

from support import Case

import heeler
from heeler.loader import order, part, step_size


def first_steps(folder, rank, world, steps, size, count, most=None, epochs=1):
    """Run one rank of a job for some steps, and give the examples of each pass."""
    os.environ.update(RANK=str(rank), WORLD_SIZE=str(world))
    job = heeler.init(folder=folder / f"{rank}", save_every_s=None)
    seen = []
    for _ in job.epochs(epochs):
        for batch in job.loader(range(count), size, most=most):
            seen.append((job.steps, batch))
            job.step()
            if job.steps == steps:
                job.save()
                return job, seen
    return job, seen


class Shares(Case):
    def setUp(self):
        super().setUp()
        # Ranks run one after another here, so none can wait for another.
        import heeler.council

        kept = heeler.council.convene
        heeler.council.convene = lambda *_: heeler.council.Alone()
        self.addCleanup(setattr, heeler.council, "convene", kept)
        kept_wait = heeler.Store.save
        heeler.Store.save = lambda s, step, state, own: kept_wait(s, step, state, own, wait_s=0.0)
        self.addCleanup(setattr, heeler.Store, "save", kept_wait)

    def test_each_example_once_whatever_the_ranks(self):
        for world in (1, 3, 8):
            for count in (8, 65, 103):
                for size, most in ((8, None), (16, 3), (24, 1)):
                    seen = Counter()
                    per_rank = []
                    for rank in range(world):
                        folder = self.folder / f"{world}-{count}-{size}-{most}"
                        job, passes = first_steps(folder, rank, world, -1, size, count, most)
                        seen.update(i for _, batch in passes for i in batch)
                        per_rank.append([step for step, _ in passes])
                        self.assertTrue(all(batch for _, batch in passes))
                        self.assertEqual(job.samples, count)
                    case = f"{world} ranks, {count} examples, batch {size}, most {most}"
                    self.assertEqual(seen, Counter(range(count)), case)
                    # All ranks do the same passes of the same steps, so none waits for ever.
                    self.assertTrue(all(steps == per_rank[0] for steps in per_rank), case)

    def test_a_pass_takes_no_more_than_it_may(self):
        _, passes = first_steps(self.folder, 0, 1, -1, 32, 320, most=5)
        self.assertTrue(all(len(batch) <= 5 for _, batch in passes))
        self.assertEqual(Counter(step for step, _ in passes), Counter({s: 7 for s in range(10)}))

    def test_the_count_of_ranks_may_change_within_an_epoch(self):
        count, size, seen = 101, 8, Counter()
        for rank in range(4):
            _, passes = first_steps(self.folder, rank, 4, 5, size, count)
            seen.update(i for _, batch in passes for i in batch)
        self.assertEqual(sum(seen.values()), 40)
        # Three ranks go on from what rank 0 of four saved.
        for rank in range(1, 4):
            shutil.rmtree(self.folder / f"{rank}")
            shutil.copytree(self.folder / "0", self.folder / f"{rank}")
        for rank in range(3):
            job, passes = first_steps(self.folder, rank, 3, -1, size, count)
            seen.update(i for _, batch in passes for i in batch)
            self.assertEqual(job.samples, count)
        self.assertEqual(seen, Counter(range(count)))

    def test_more_ranks_than_are_left_still_have_one_each(self):
        os.environ.update(RANK="0", WORLD_SIZE="1")
        job = heeler.init(folder=self.folder / "few", save_every_s=None)
        for _ in job.epochs(1):
            for _batch in job.loader(range(10), 4):
                job.step()
                if job.steps == 2:
                    job.save()
                    break
            break
        parts = []
        for rank in range(4):
            os.environ.update(RANK=str(rank), WORLD_SIZE="4")
            job = heeler.init(folder=self.folder / "few", save_every_s=None)
            parts += [list(batch) for _ in job.epochs(1) for batch in job.loader(range(10), 4)]
            for made in (self.folder / "few").glob("step-*3"):
                shutil.rmtree(made)
        self.assertTrue(all(len(each) == 1 for each in parts), parts)

    def test_epochs_are_shuffled_differently_but_repeatably(self):
        self.assertEqual(order(50, 1, 0, True), order(50, 1, 0, True))
        self.assertNotEqual(order(50, 1, 0, True), order(50, 2, 0, True))
        self.assertNotEqual(order(50, 1, 0, True), order(50, 1, 1, True))
        self.assertEqual(order(5, 1, 0, False), [0, 1, 2, 3, 4])

    def test_shuffling_does_not_touch_the_scripts_own_chance(self):
        random.seed(3)
        before = random.getstate()
        order(50, 1, 0, True)
        self.assertEqual(random.getstate(), before)

    def test_drop_last_drops(self):
        job = heeler.init(folder=self.folder)
        sizes = []
        for _ in job.epochs(1):
            sizes += [len(batch) for batch in job.loader(range(21), 8, drop_last=True)]
        self.assertEqual(sizes, [8, 8])

    def test_parts_and_steps(self):
        parts = [list(part(range(7), rank, 3)) for rank in range(3)]
        self.assertEqual(parts, [[0, 1], [2, 3], [4, 5, 6]])
        self.assertEqual(step_size(17, 8, 2), 8)
        self.assertEqual(step_size(9, 8, 2), 9)
        self.assertEqual(step_size(5, 8, 2), 5)

    def test_mistakes_are_named(self):
        os.environ.update(RANK="0", WORLD_SIZE="4")
        job = heeler.init(folder=self.folder)
        with self.assertRaisesRegex(ValueError, "cannot be shared by 4 ranks"):
            job.loader(range(100), 3)
        with self.assertRaisesRegex(ValueError, "3 examples cannot be shared"):
            job.loader(range(3), 8)
        with self.assertRaisesRegex(ValueError, "from 1 on"):
            job.loader(range(100))

    def test_a_pass_that_nobody_counted_is_counted(self):
        job = heeler.init(folder=self.folder)
        for _ in job.epochs(2):
            for _batch in job.loader(range(32), 8):
                pass
        self.assertEqual((job.steps, job.samples), (8, 64))


if __name__ == "__main__":
    unittest.main()
