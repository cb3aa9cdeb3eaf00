//! A push parser for server-sent events: bytes in at any split, whole events out.
