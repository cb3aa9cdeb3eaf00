//! A client for a proxy server that speaks to the provider in our place.
