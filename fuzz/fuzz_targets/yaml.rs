//! Feeds a fuzzer's bytes to the target `yaml`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    (heeler_fuzz::target("yaml").expect("a target of that name").one)(data);
});
