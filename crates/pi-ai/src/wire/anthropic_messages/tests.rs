//! The Messages API against recorded streams and built requests.

mod answers;
mod requests;
