//! The files pi keeps under its agent directory.
