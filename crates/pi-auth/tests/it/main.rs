//! Integration tests of pi-auth: sign-in against loopback services.

mod sign_in;
