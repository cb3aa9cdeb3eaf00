//! Credentials: their stored shape, where they come from, and in which order.
