//! A journal that survives `kill -9` and power loss: checksummed records in segments, synced in
//! groups, with snapshots that let old segments go. It knows nothing of what is in the records.
