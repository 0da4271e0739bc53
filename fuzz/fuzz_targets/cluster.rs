//! Feeds a fuzzer's bytes to the target `cluster`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    (heeler_fuzz::target("cluster").expect("a target of that name").one)(data);
});
