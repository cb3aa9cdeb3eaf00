//! OpenAI's Chat Completions API and the many services compatible with it.
