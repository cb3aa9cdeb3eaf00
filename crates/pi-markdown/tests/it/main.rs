//! Integration tests of the library.

mod example;
