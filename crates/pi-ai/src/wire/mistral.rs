//! Mistral's chat API.
