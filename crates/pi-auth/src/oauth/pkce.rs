//! PKCE (RFC 7636) and random state values.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};

/// A secret verifier and its hash. The hash is sent with the authorization request and the verifier
/// with the code, so a stolen code alone is useless.
pub struct Pkce {
    pub verifier: String,
    /// SHA-256 of the verifier, for method `S256`.
    pub challenge: String,
}

impl Pkce {
    pub fn generate() -> Self {
        Self::from_verifier(URL_SAFE_NO_PAD.encode(rand::random::<[u8; 32]>()))
    }

    fn from_verifier(verifier: String) -> Self {
        let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(verifier.as_bytes()));
        Self {
            verifier,
            challenge,
        }
    }
}

/// Returns an unguessable string.
pub(super) fn random_state() -> String {
    URL_SAFE_NO_PAD.encode(rand::random::<[u8; 16]>())
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn challenge_matches_the_rfc_example() {
        // Example from RFC 7636, appendix B.
        let pkce = Pkce::from_verifier("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk".to_owned());
        assert_eq!(
            pkce.challenge,
            "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
        );
    }

    #[test]
    fn verifiers_are_unique_and_long_enough() {
        let (first, second) = (Pkce::generate(), Pkce::generate());
        assert_ne!(first.verifier, second.verifier);
        assert_eq!(first.verifier.len(), 43);
    }
}
