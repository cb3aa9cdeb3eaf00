//! Runs shell commands.
