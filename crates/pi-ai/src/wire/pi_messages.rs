//! pi's own messages, as a gateway serves them.
