//! Text for display: numbers, sizes, paths, and text from untrusted sources.

pub(crate) mod byte_size;
pub(crate) mod paths;
pub(crate) mod thousands;
pub(crate) mod untrusted_text;
pub(crate) mod web_address;
