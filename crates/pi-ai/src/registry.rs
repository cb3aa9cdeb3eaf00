//! The collection of providers and models a program works with.
