"""Checkpoints: whole or not there, the latest few, torn ones passed over."""

import contextlib
import io
import os
import threading
import unittest

from support import Case

from heeler import CheckpointError, Store
from heeler.surroundings import Surroundings


class Checkpoints(Case):
    def load_quietly(self, store):
        said = io.StringIO()
        with contextlib.redirect_stderr(said):
            return store.load(), said.getvalue()

    def test_what_is_saved_is_loaded_and_two_are_kept(self):
        store = Store(self.folder)
        self.assertIsNone(store.load())
        for step in (1, 2, 10):
            self.assertTrue(store.save(step, {"at": step}, ["own", step]))
        self.assertEqual(store.steps(), [10, 2])
        self.assertEqual(store.load(), (10, {"at": 10}, ["own", 10]))

    def test_a_torn_one_falls_back_to_the_one_before(self):
        store = Store(self.folder)
        for step in (1, 2):
            store.save(step, list(range(1000)), step)
        state = self.folder / "step-000000000002" / "state"
        whole = state.read_bytes()
        for broken in (whole[:-1], b"", whole[:50] + b"\0" + whole[51:]):
            state.write_bytes(broken)
            loaded, said = self.load_quietly(store)
            self.assertEqual(loaded[0], 1)
            self.assertIn("torn", said)
        state.unlink()
        self.assertEqual(self.load_quietly(store)[0][0], 1)

    def test_if_all_are_torn_nothing_is_begun_in_silence(self):
        store = Store(self.folder)
        store.save(5, {}, None)
        (self.folder / "step-000000000005" / "checkpoint.json").write_text("{")
        with self.assertRaisesRegex(CheckpointError, "remove the folder"):
            self.load_quietly(store)

    def test_what_was_being_written_is_swept_away(self):
        Store(self.folder).save(1, {"good": True}, None)
        draft = self.folder / ".saving-g1-0-7"
        draft.mkdir()
        (draft / "state").write_bytes(b"half")
        store = Store(self.folder)
        self.assertFalse(draft.exists())
        self.assertEqual(store.load()[1], {"good": True})

    def test_a_checkpoint_of_a_later_version_is_not_misread(self):
        store = Store(self.folder)
        store.save(1, {}, None)
        listed = self.folder / "step-000000000001" / "checkpoint.json"
        listed.write_text(listed.read_text().replace('"version": 1', '"version": 99'))
        with self.assertRaises(CheckpointError):
            self.load_quietly(store)

    def test_each_rank_has_its_part_and_a_new_one_has_none(self):
        stores = [Store(self.folder, rank, 3) for rank in range(3)]
        saves = [
            threading.Thread(target=store.save, args=(4, "all", f"rank {rank}"))
            for rank, store in enumerate(stores)
        ]
        for save in saves:
            save.start()
        for save in saves:
            save.join()
        for rank, store in enumerate(stores):
            self.assertEqual(store.load(), (4, "all", f"rank {rank}"))
        self.assertEqual(Store(self.folder, 3, 4).load(), (4, "all", None))

    def test_a_rank_that_is_gone_does_not_hold_up_the_others(self):
        self.assertTrue(Store(self.folder, 0, 2).save(4, "all", "mine", wait_s=0.05))
        self.assertEqual(Store(self.folder, 1, 2).load(), (4, "all", None))

    @unittest.skipIf(os.geteuid() == 0, "root may write anywhere")
    def test_a_folder_that_cannot_be_written_says_so(self):
        store = Store(self.folder)
        self.folder.chmod(0o500)
        self.assertFalse(store.save(1, {}, None))

    def test_a_save_that_fails_leaves_the_one_before(self):
        store = Store(self.folder)
        store.save(1, "first", None)
        # A file in the way of the draft, as a full disk is in the way of any.
        (self.folder / ".saving-0-2").write_bytes(b"")
        said = io.StringIO()
        with contextlib.redirect_stderr(said):
            self.assertFalse(store.save(2, "second", None, wait_s=0.01))
        self.assertIn("could not be saved", said.getvalue())
        self.assertEqual(store.load()[:2], (1, "first"))


class Variables(Case):
    def test_they_are_read(self):
        env = {
            "HEELER_JOB": "17",
            "HEELER_GENERATION": "3",
            "HEELER_RESTARTS": "1",
            "HEELER_CHECKPOINT_DIR": "/c",
            "RANK": "1",
            "WORLD_SIZE": "4",
        }
        around = Surroundings.read(env)
        self.assertEqual((around.job, around.incarnation, around.folder), ("17", "g3-1", "/c"))
        self.assertEqual((around.rank, around.world, around.socket), (1, 4, None))

    def test_mistakes_are_named(self):
        with self.assertRaisesRegex(ValueError, "RANK should be a whole number"):
            Surroundings.read({"RANK": "x"})
        with self.assertRaisesRegex(ValueError, "ranks count from 0"):
            Surroundings.read({"RANK": "2", "WORLD_SIZE": "2"})


if __name__ == "__main__":
    unittest.main()
