//! The Converse API against built streams, requests, and credentials on disk and over loopback.

mod authentication;
mod over_http;
mod requests;
mod responses;
