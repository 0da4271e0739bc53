//! Feeds a fuzzer's bytes to the target `recipe`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    (heeler_fuzz::target("recipe").expect("a target of that name").one)(data);
});
