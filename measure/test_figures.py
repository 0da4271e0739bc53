"""The figures, on made-up logs: `python3 -m unittest discover measure`."""

import unittest

from figures import Log, markdown, same_losses, sharing


def log(steps: list[tuple[int, float]]) -> Log:
    """Steps and when they were done; the loss is made of the step."""
    return Log(starts=[{"pid": 1}], steps=[(step, (step / 7).hex(), t) for step, t in steps])


class Figures(unittest.TestCase):
    def test_losses_that_differ_or_are_missing_are_found(self) -> None:
        alone = log([(n, n / 10) for n in range(10)])
        self.assertTrue(same_losses(log([(n, n) for n in range(8)]), alone)["equal"])
        self.assertFalse(same_losses(log([(n, n) for n in (0, 1, 3)]), alone)["equal"])
        self.assertFalse(same_losses(log([]), alone)["equal"])
        odd = log([(n, n) for n in range(8)])
        odd.steps[5] = (5, (0.1).hex(), 5.0)
        found = same_losses(odd, alone)
        self.assertEqual((found["differ"], found["first_difference"]), (1, 5))

    def test_seconds_lost_at_a_switch_are_those_between_less_a_step(self) -> None:
        alone = log([(n, n / 10) for n in range(100)])
        first = log([(n, n / 10) for n in range(10)] + [(n, 3.0 + n / 10) for n in range(10, 20)])
        other = log([(n, 2.0 + n / 10) for n in range(10)])
        # From 0.9 to 2.0 the other one starts, which is no switch; from 2.9 to 4.0 is one.
        both = {"first": first, "other": other}
        found = sharing(both, {"first": alone, "other": alone})
        self.assertEqual(found["switches"], 1)
        self.assertAlmostEqual(found["lost_s_median"], 1.0)
        self.assertTrue(found["losses_equal"])
        self.assertAlmostEqual(found["over_s"], 2.9)
        side_by_side = sharing(both, {"first": alone, "other": alone}, None)
        self.assertIsNone(side_by_side["switches"])

    def test_steps_done_again_are_no_progress(self) -> None:
        again = log([(0, 0.0), (1, 0.1), (0, 5.0), (1, 5.1), (2, 5.2)])
        self.assertEqual(again.progress(), [0.0, 0.1, 5.2])

    def test_a_part_that_failed_is_a_row(self) -> None:
        failed = {"recipe": "gandiva", "way": "freeze", "count": 2, "error": "it was not there"}
        self.assertIn("it was not there", markdown({"sharing": {"a": failed}}))


if __name__ == "__main__":
    unittest.main()
