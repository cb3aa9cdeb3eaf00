//! A scripted provider for tests, demos and offline work.
