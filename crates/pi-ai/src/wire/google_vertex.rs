//! Google's models on Vertex AI.
