//! Signing in: authorization code with PKCE, device codes, and the services that use them.
