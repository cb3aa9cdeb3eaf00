//! One live session, whatever the front end.
