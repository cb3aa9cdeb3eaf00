//! The line protocol of pi.
