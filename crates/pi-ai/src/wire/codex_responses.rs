//! The Responses dialect behind a ChatGPT sign-in.
