//! Text for display: numbers, sizes, paths, and text from untrusted sources.

pub mod byte_size;
pub mod file_reference;
pub mod language;
pub mod paths;
pub mod provider_error;
pub mod thousands;
pub mod untrusted_text;
pub mod web_address;
