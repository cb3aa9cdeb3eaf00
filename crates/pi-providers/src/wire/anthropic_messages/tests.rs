//! The Messages API against recorded streams and built requests.

mod requests;
mod responses;
