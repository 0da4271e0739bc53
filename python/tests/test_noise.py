"""The gradient noise estimate against cases that are known, and what is made of it."""

import random
import unittest

from support import Case

import heeler
from heeler.adapt import Batch, Range, Speed, choose, lr_scale
from heeler.noise import Collected, GradientNoise, square

TRUE = [3.0, -4.0]  # |g|² = 25
SPREAD = 2.0  # each component; of one example: trace 8


def mean_gradient(chance, count):
    """The mean of gradients of ``count`` examples."""
    return [value + chance.gauss(0.0, SPREAD / count**0.5) for value in TRUE]


class Estimates(unittest.TestCase):
    def test_one_step_by_hand(self):
        # Gradients (1, 0) and (0, 1): mean (½, ½) of square ½; squares have mean 1.
        noise = GradientNoise()
        noise.observe(2, 1.0, 0.5, 1.0)
        self.assertAlmostEqual(noise.sqr, 0.0)
        self.assertAlmostEqual(noise.var, 0.5)

    def test_a_known_case_from_passes(self):
        chance, noise, collected = random.Random(1), GradientNoise(), Collected()
        first, total, passes = 16, 64, 4
        for _ in range(4000):
            for _ in range(passes):
                collected.add(mean_gradient(chance, total // passes))
            collected.close(noise, total / first)
        self.assertAlmostEqual(noise.sqr, 25.0, delta=0.5)
        self.assertAlmostEqual(noise.var, 2 * SPREAD**2 / first, delta=0.05)

    def test_a_known_case_from_ranks_at_another_scale(self):
        chance, noise, first = random.Random(2), GradientNoise(), 16
        for total in [64] * 2000 + [256] * 2000:
            parts = [mean_gradient(chance, total // 8) for _ in range(8)]
            mean = [sum(values) / 8 for values in zip(*parts)]
            noise.observe(8, sum(map(square, parts)) / 8, square(mean), total / first)
        self.assertAlmostEqual(noise.sqr, 25.0, delta=0.5)
        self.assertAlmostEqual(noise.var, 0.5, delta=0.05)

    def test_one_gradient_in_a_step_is_compared_with_the_one_before(self):
        chance, noise, collected = random.Random(3), GradientNoise(), Collected()
        for _ in range(6000):
            collected.add(mean_gradient(chance, 16))
            collected.close(noise, 1.0)
        self.assertAlmostEqual(noise.sqr, 25.0, delta=0.5)
        self.assertAlmostEqual(noise.var, 0.5, delta=0.05)

    def test_a_better_estimate_replaces_a_biased_one(self):
        noise = GradientNoise()
        noise.observe(2, 100.0, 1.0, 1.0, biased=True)
        noise.observe(2, 1.0, 0.5, 1.0)
        self.assertAlmostEqual(noise.var, 0.5)
        noise.observe(2, 100.0, 1.0, 1.0, biased=True)
        self.assertAlmostEqual(noise.var, 0.5)

    def test_nonsense_is_passed_over(self):
        noise = GradientNoise()
        for parts, squares, square_of_mean, scale in [
            (1, 1.0, 1.0, 1.0),
            (2, float("nan"), 1.0, 1.0),
            (2, float("inf"), 1.0, 1.0),
            (2, 1.0, 1.0, 0.0),
        ]:
            noise.observe(parts, squares, square_of_mean, scale)
        self.assertFalse(noise.known)
        self.assertEqual(noise.gain(4.0), 1.0)

    def test_it_survives_a_checkpoint(self):
        noise, other = GradientNoise(), GradientNoise()
        noise.observe(2, 1.0, 0.6, 1.0)
        other.load_state_dict(noise.state_dict())
        self.assertEqual((other.sqr, other.var), (noise.sqr, noise.var))


def noise_of(sqr, var):
    """An estimate that says just this."""
    noise = GradientNoise()
    noise.load_state_dict({"sqr": sqr, "var": var, "weight": 1.0, "biased": False})
    return noise


class Choices(unittest.TestCase):
    def test_gain_is_between_one_and_the_scale(self):
        self.assertAlmostEqual(noise_of(1.0, 0.0).gain(8.0), 1.0)
        self.assertAlmostEqual(noise_of(0.0, 1.0).gain(8.0), 8.0)
        self.assertAlmostEqual(noise_of(1.0, 1.0).gain(8.0), 2.0 / 1.125)
        self.assertAlmostEqual(noise_of(1.0, 3.0).efficiency(1.0), 1.0)

    def test_rules(self):
        noise = noise_of(1.0, 1.0)
        for rule, expected in [("adascale", 1.6), ("sqrt", 2.0), ("linear", 4.0), ("none", 1.0)]:
            self.assertAlmostEqual(lr_scale(rule, 4.0, noise), expected)

    def test_how_totals_are_split(self):
        may = Range(128, 4096, 32, 256, True)
        self.assertEqual(may.fit(128, 1), Batch(128, 1))
        self.assertEqual(may.fit(256, 1), Batch(256, 2), "one gradient would say nothing of noise")
        self.assertEqual(may.fit(1024, 4), Batch(1024, 1))
        self.assertEqual(may.fit(2048, 4), Batch(2048, 2))
        self.assertIsNone(may.fit(64, 4), "passes would be too small")
        self.assertIsNone(Range(128, 4096, 32, 256, False).fit(2048, 4))
        self.assertEqual(may.start(8), Batch(256, 1), "the smallest that eight can share")
        totals = [batch.total for batch in may.candidates(4)]
        self.assertEqual((totals[0], totals[-1]), (128, 4096))
        self.assertEqual(totals, sorted(set(totals)))

    def test_noisy_gradients_call_for_large_batches_and_clear_ones_do_not(self):
        may, speed = Range(64, 2048, 16, 512, True), Speed()
        for _ in range(5):
            speed.observe(True, 16, 0.100 + 16 * 0.001)
            speed.observe(True, 64, 0.100 + 64 * 0.001)
        now = Batch(64, 1)
        large = choose(now, may, 4, speed, noise_of(1.0, 100.0))
        self.assertGreater(large.total, 1000)
        self.assertEqual(choose(now, may, 4, speed, noise_of(1.0, 0.001)), now)
        self.assertEqual(choose(now, may, 4, Speed(), noise_of(1.0, 100.0)), now)

    def test_speed_is_a_line(self):
        speed = Speed()
        for size in (10, 20, 40):
            for _ in range(3):
                speed.observe(True, size, 0.5 + 0.01 * size)
                speed.observe(False, size, 0.2 + 0.01 * size)
        self.assertAlmostEqual(speed.step_s(Batch(90, 3), 1), 2 * 0.5 + 0.8)
        again = Speed()
        again.load_state_dict(speed.state_dict())
        self.assertAlmostEqual(again.step_s(Batch(90, 3), 1), 1.8)


class Adapting(Case):
    def test_a_jobs_batch_grows_when_gradients_are_noise(self):
        chance, sizes = random.Random(4), []
        job = heeler.init(batch=(16, 512, 8, 128), folder=self.folder, adapt_every_s=0.0)
        # As fast as a GPU on which large passes pay; how fast this machine is must not matter.
        for size in (8, 8, 8, 16, 16, 16):
            job._speed.observe(True, size, 0.1 + 0.001 * size)
        job._speed.observe = lambda *_: None
        for _ in job.epochs(3):
            for batch in job.loader(range(4000)):
                self.assertLessEqual(len(batch), 128 + 1)
                job.gradient([chance.gauss(0.0, 1.0 / len(batch) ** 0.5)])
                job.step(loss=1.0)
                sizes.append(job.batch.total)
        self.assertEqual(job.samples, 12000)
        self.assertEqual(sizes[0], 16)
        self.assertGreater(sizes[-1], 100)
        self.assertGreater(job.lr_scale, 3.0)
        self.assertGreater(job.progress, job.steps)
        again = heeler.init(batch=(16, 512, 8, 128), folder=self.folder)
        self.assertEqual(again.batch.total, job.batch.total)
        self.assertEqual(again.noise.var, job.noise.var)

    def test_mistakes_are_named(self):
        with self.assertRaisesRegex(ValueError, "M0, M_max"):
            heeler.init(batch=(64, 32, 1, 8), folder=self.folder)
        with self.assertRaisesRegex(ValueError, "m_min, m_max"):
            heeler.init(batch=(16, 32, 9, 8), folder=self.folder)
        with self.assertRaisesRegex(ValueError, "lr_rule should be one of"):
            heeler.init(lr_rule="cosine", folder=self.folder)
        with self.assertRaisesRegex(ValueError, "no batch from 16 to 32"):
            heeler.init(batch=(16, 32, 1, 4), accumulation=False, folder=self.folder)


if __name__ == "__main__":
    unittest.main()
