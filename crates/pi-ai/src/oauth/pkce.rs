//! Proof keys for the code exchange (RFC 7636) and the state that ties an answer to its question.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};

/// A secret and its fingerprint. The fingerprint goes with the question, the secret with the code,
/// so that whoever steals the code alone cannot use it.
pub(super) struct Pkce {
    pub(super) verifier: String,
    /// Its SHA-256, for method `S256`.
    pub(super) challenge: String,
}

impl Pkce {
    pub(super) fn generate() -> Self {
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

/// Returns a text nobody can guess.
pub(super) fn random_state() -> String {
    URL_SAFE_NO_PAD.encode(rand::random::<[u8; 16]>())
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn challenge_is_the_one_of_the_standard() {
        // The example of RFC 7636, appendix B.
        let pkce = Pkce::from_verifier("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk".to_owned());
        assert_eq!(
            pkce.challenge,
            "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
        );
    }

    #[test]
    fn every_secret_is_new_and_long_enough() {
        let (first, second) = (Pkce::generate(), Pkce::generate());
        assert_ne!(first.verifier, second.verifier);
        assert_eq!(first.verifier.len(), 43);
    }
}
