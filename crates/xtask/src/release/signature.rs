//! Signatures of a release with one Ed25519 key: plain ones, which `pi update` and OpenSSL verify, and those of OpenSSH,
//! for systems whose OpenSSL cannot.

use anyhow::{Context as _, Result, ensure};
use aws_lc_rs::digest::{SHA512, digest};
use aws_lc_rs::rand;
use aws_lc_rs::signature::{Ed25519KeyPair, KeyPair as _};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// What the signatures of OpenSSH are limited to.
const NAMESPACE: &str = "pi-release";

const KEY_TYPE: &str = "ssh-ed25519";

const SEED_BYTES: usize = 32;

pub(super) struct SigningKey(Ed25519KeyPair);

impl SigningKey {
    /// Parses a seed in base64.
    pub(super) fn parse(seed: &str) -> Result<Self> {
        let seed = STANDARD.decode(seed.trim()).ok();
        let seed = seed.filter(|seed| seed.len() == SEED_BYTES);
        let seed = seed.context("the signing key is not 32 bytes in base64")?;
        let key = Ed25519KeyPair::from_seed_unchecked(&seed).ok();
        Ok(Self(key.context("the signing key is invalid")?))
    }

    /// Returns a new seed in base64 and its key.
    pub(super) fn generate() -> Result<(String, Self)> {
        let mut seed = [0; SEED_BYTES];
        ensure!(rand::fill(&mut seed).is_ok(), "no random numbers");
        let seed = STANDARD.encode(seed);
        let key = Self::parse(&seed)?;
        Ok((seed, key))
    }

    /// Returns the public key in base64.
    pub(super) fn public_key(&self) -> String {
        STANDARD.encode(self.0.public_key())
    }

    /// Returns the public key as OpenSSH writes it.
    pub(super) fn public_key_for_ssh(&self) -> String {
        format!("{KEY_TYPE} {}", STANDARD.encode(self.ssh_key()))
    }

    /// Returns a signature in base64.
    pub(super) fn sign(&self, message: &[u8]) -> String {
        format!("{}\n", STANDARD.encode(self.0.sign(message)))
    }

    /// Returns a signature as `ssh-keygen -Y sign` makes it.
    pub(super) fn sign_for_ssh(&self, message: &[u8]) -> String {
        let mut signed = b"SSHSIG".to_vec();
        let hash = digest(&SHA512, message);
        for field in [NAMESPACE.as_bytes(), b"", b"sha512", hash.as_ref()] {
            push_field(&mut signed, field);
        }
        let mut signature = Vec::new();
        push_field(&mut signature, KEY_TYPE.as_bytes());
        push_field(&mut signature, self.0.sign(&signed).as_ref());
        let mut envelope = b"SSHSIG\x00\x00\x00\x01".to_vec();
        for field in [
            &self.ssh_key(),
            NAMESPACE.as_bytes(),
            b"",
            b"sha512",
            &signature,
        ] {
            push_field(&mut envelope, field);
        }
        let encoded = STANDARD.encode(envelope);
        let mut text = "-----BEGIN SSH SIGNATURE-----\n".to_owned();
        for (number, letter) in encoded.chars().enumerate() {
            if number > 0 && number % 70 == 0 {
                text.push('\n');
            }
            text.push(letter);
        }
        text.push_str("\n-----END SSH SIGNATURE-----\n");
        text
    }

    fn ssh_key(&self) -> Vec<u8> {
        let mut key = Vec::new();
        push_field(&mut key, KEY_TYPE.as_bytes());
        push_field(&mut key, self.0.public_key().as_ref());
        key
    }
}

/// Appends a string of the SSH protocol: its length, then its bytes.
fn push_field(message: &mut Vec<u8>, field: &[u8]) {
    let length = u32::try_from(field.len()).unwrap_or(u32::MAX);
    message.extend(length.to_be_bytes());
    message.extend(field);
}
