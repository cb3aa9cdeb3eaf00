//! Markdown files with YAML front matter; see `pi_fuzz_checks::front_matter`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| pi_fuzz_checks::front_matter(data));
