//! The Responses API as Azure hosts it.
