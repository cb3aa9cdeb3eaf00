//! Google's Generative Language API.
