//! Feeds a fuzzer's bytes to the target `world`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    (heeler_fuzz::target("world").expect("a target of that name").one)(data);
});
