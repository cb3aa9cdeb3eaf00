//! Signatures and key pairs: RSA, ECDSA and Ed25519, with keys in DER.

use aws_lc_rs::encoding::AsDer as _;
use aws_lc_rs::encoding::{Pkcs8V1Der, PublicKeyX509Der};
use aws_lc_rs::error::{KeyRejected, Unspecified};
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::KeySize;
use aws_lc_rs::signature::{
    self, EcdsaKeyPair, EcdsaSigningAlgorithm, Ed25519KeyPair, KeyPair as _, RsaEncoding,
    RsaKeyPair, UnparsedPublicKey, VerificationAlgorithm,
};

use super::NativeError;

/// Number of bytes at the start of a key that are searched for an algorithm identifier.
const HEADER_LENGTH: usize = 96;

const RSA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01];
const ED25519: &[u8] = &[0x2b, 0x65, 0x70];
const P256: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07];
const P384: &[u8] = &[0x2b, 0x81, 0x04, 0x00, 0x22];
const P521: &[u8] = &[0x2b, 0x81, 0x04, 0x00, 0x23];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KeyKind {
    Rsa,
    Ec(EllipticCurve),
    Ed25519,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EllipticCurve {
    P256,
    P384,
    P521,
}

impl EllipticCurve {
    fn named(name: &str) -> Option<Self> {
        match name {
            "P-256" | "prime256v1" => Some(Self::P256),
            "P-384" | "secp384r1" => Some(Self::P384),
            "P-521" | "secp521r1" => Some(Self::P521),
            _ => None,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::P256 => "prime256v1",
            Self::P384 => "secp384r1",
            Self::P521 => "secp521r1",
        }
    }
}

impl KeyKind {
    /// Detects the kind of a DER-encoded key. Keys without an algorithm identifier are PKCS #1 RSA.
    pub(super) fn of(key: &[u8]) -> Self {
        let header = key.get(..HEADER_LENGTH.min(key.len())).unwrap_or_default();
        let has = |identifier: &[u8]| header.windows(identifier.len()).any(|it| it == identifier);
        // A SEC 1 private key has the curve identifier after the key.
        let contains = |identifier: &[u8]| key.windows(identifier.len()).any(|it| it == identifier);
        if has(RSA) {
            Self::Rsa
        } else if has(P256) {
            Self::Ec(EllipticCurve::P256)
        } else if has(P384) {
            Self::Ec(EllipticCurve::P384)
        } else if has(P521) {
            Self::Ec(EllipticCurve::P521)
        } else if has(ED25519) {
            Self::Ed25519
        } else if key.len() < HEADER_LENGTH * 3 && contains(P384) {
            Self::Ec(EllipticCurve::P384)
        } else if key.len() < HEADER_LENGTH * 3 && contains(P521) {
            Self::Ec(EllipticCurve::P521)
        } else {
            Self::Rsa
        }
    }

    /// Returns Node's names of the key type and the curve.
    pub(super) fn names(self) -> (&'static str, Option<&'static str>) {
        match self {
            Self::Rsa => ("rsa", None),
            Self::Ec(curve) => ("ec", Some(curve.name())),
            Self::Ed25519 => ("ed25519", None),
        }
    }
}

/// Signature parameters.
pub(super) struct SignatureScheme<'a> {
    /// Such as `sha256`. Ignored for Ed25519.
    pub(super) digest: &'a str,
    /// RSA: PSS instead of PKCS #1.
    pub(super) is_pss: bool,
    /// ECDSA: fixed-length `r || s` instead of DER.
    pub(super) is_fixed: bool,
}

impl SignatureScheme<'_> {
    fn unsupported(&self) -> NativeError {
        NativeError::new(format!(
            "signing with this key and {} is not supported",
            self.digest
        ))
        .with_code("ERR_CRYPTO_UNSUPPORTED_OPERATION")
    }

    fn rsa(&self) -> Option<&'static dyn RsaEncoding> {
        Some(match (self.digest, self.is_pss) {
            ("sha256", false) => &signature::RSA_PKCS1_SHA256,
            ("sha384", false) => &signature::RSA_PKCS1_SHA384,
            ("sha512", false) => &signature::RSA_PKCS1_SHA512,
            ("sha256", true) => &signature::RSA_PSS_SHA256,
            ("sha384", true) => &signature::RSA_PSS_SHA384,
            ("sha512", true) => &signature::RSA_PSS_SHA512,
            _ => return None,
        })
    }

    fn curve(&self, curve: EllipticCurve) -> Option<&'static EcdsaSigningAlgorithm> {
        Some(match (curve, self.digest, self.is_fixed) {
            (EllipticCurve::P256, "sha256", false) => &signature::ECDSA_P256_SHA256_ASN1_SIGNING,
            (EllipticCurve::P256, "sha256", true) => &signature::ECDSA_P256_SHA256_FIXED_SIGNING,
            (EllipticCurve::P384, "sha384", false) => &signature::ECDSA_P384_SHA384_ASN1_SIGNING,
            (EllipticCurve::P384, "sha384", true) => &signature::ECDSA_P384_SHA384_FIXED_SIGNING,
            (EllipticCurve::P521, "sha512", false) => &signature::ECDSA_P521_SHA512_ASN1_SIGNING,
            (EllipticCurve::P521, "sha512", true) => &signature::ECDSA_P521_SHA512_FIXED_SIGNING,
            _ => return None,
        })
    }

    fn verification(&self, kind: KeyKind) -> Option<&'static dyn VerificationAlgorithm> {
        let digest = self.digest;
        Some(match kind {
            KeyKind::Ed25519 => &signature::ED25519,
            KeyKind::Rsa => match (digest, self.is_pss) {
                ("sha1", false) => &signature::RSA_PKCS1_2048_8192_SHA1_FOR_LEGACY_USE_ONLY,
                ("sha256", false) => &signature::RSA_PKCS1_2048_8192_SHA256,
                ("sha384", false) => &signature::RSA_PKCS1_2048_8192_SHA384,
                ("sha512", false) => &signature::RSA_PKCS1_2048_8192_SHA512,
                ("sha256", true) => &signature::RSA_PSS_2048_8192_SHA256,
                ("sha384", true) => &signature::RSA_PSS_2048_8192_SHA384,
                ("sha512", true) => &signature::RSA_PSS_2048_8192_SHA512,
                _ => return None,
            },
            KeyKind::Ec(curve) => match (curve, digest, self.is_fixed) {
                (EllipticCurve::P256, "sha256", false) => &signature::ECDSA_P256_SHA256_ASN1,
                (EllipticCurve::P256, "sha384", false) => &signature::ECDSA_P256_SHA384_ASN1,
                (EllipticCurve::P256, "sha256", true) => &signature::ECDSA_P256_SHA256_FIXED,
                (EllipticCurve::P384, "sha256", false) => &signature::ECDSA_P384_SHA256_ASN1,
                (EllipticCurve::P384, "sha384", false) => &signature::ECDSA_P384_SHA384_ASN1,
                (EllipticCurve::P384, "sha384", true) => &signature::ECDSA_P384_SHA384_FIXED,
                (EllipticCurve::P521, "sha256", false) => &signature::ECDSA_P521_SHA256_ASN1,
                (EllipticCurve::P521, "sha384", false) => &signature::ECDSA_P521_SHA384_ASN1,
                (EllipticCurve::P521, "sha512", false) => &signature::ECDSA_P521_SHA512_ASN1,
                (EllipticCurve::P521, "sha512", true) => &signature::ECDSA_P521_SHA512_FIXED,
                _ => return None,
            },
        })
    }
}

fn key_rejected(error: KeyRejected) -> NativeError {
    NativeError::new(format!("cannot parse the key: {error}")).with_code("ERR_OSSL_UNSUPPORTED")
}

fn failed(_unspecified: Unspecified) -> NativeError {
    NativeError::new("the key operation failed")
}

fn rsa(key: &[u8]) -> Result<RsaKeyPair, NativeError> {
    RsaKeyPair::from_pkcs8(key)
        .or_else(|_| RsaKeyPair::from_der(key))
        .map_err(key_rejected)
}

fn curve(
    algorithm: &'static EcdsaSigningAlgorithm,
    key: &[u8],
) -> Result<EcdsaKeyPair, NativeError> {
    EcdsaKeyPair::from_pkcs8(algorithm, key)
        .or_else(|_| EcdsaKeyPair::from_private_key_der(algorithm, key))
        .map_err(key_rejected)
}

fn ed25519(key: &[u8]) -> Result<Ed25519KeyPair, NativeError> {
    Ed25519KeyPair::from_pkcs8_maybe_unchecked(key).map_err(key_rejected)
}

/// Returns an algorithm of the curve for parsing keys; the digest does not matter.
fn parsing_algorithm(curve: EllipticCurve) -> &'static EcdsaSigningAlgorithm {
    match curve {
        EllipticCurve::P256 => &signature::ECDSA_P256_SHA256_ASN1_SIGNING,
        EllipticCurve::P384 => &signature::ECDSA_P384_SHA384_ASN1_SIGNING,
        EllipticCurve::P521 => &signature::ECDSA_P521_SHA512_ASN1_SIGNING,
    }
}

pub(super) fn sign(
    key: &[u8],
    scheme: &SignatureScheme<'_>,
    message: &[u8],
) -> Result<Vec<u8>, NativeError> {
    let random = SystemRandom::new();
    match KeyKind::of(key) {
        KeyKind::Ed25519 => Ok(ed25519(key)?.sign(message).as_ref().to_vec()),
        KeyKind::Rsa => {
            let encoding = scheme.rsa().ok_or_else(|| scheme.unsupported())?;
            let key = rsa(key)?;
            let mut signature = vec![0; key.public_modulus_len()];
            key.sign(encoding, &random, message, &mut signature)
                .map_err(failed)?;
            Ok(signature)
        }
        KeyKind::Ec(it) => {
            let algorithm = scheme.curve(it).ok_or_else(|| scheme.unsupported())?;
            let signature = curve(algorithm, key)?
                .sign(&random, message)
                .map_err(failed)?;
            Ok(signature.as_ref().to_vec())
        }
    }
}

/// Returns whether `signature` is valid for the message and public key.
pub(super) fn verify(
    key: &[u8],
    scheme: &SignatureScheme<'_>,
    message: &[u8],
    signature: &[u8],
) -> Result<bool, NativeError> {
    let algorithm = scheme
        .verification(KeyKind::of(key))
        .ok_or_else(|| scheme.unsupported())?;
    let key = UnparsedPublicKey::new(algorithm, key);
    Ok(key.verify(message, signature).is_ok())
}

/// Returns the public key of a private key, in X.509 DER.
pub(super) fn public_key_of(key: &[u8]) -> Result<Vec<u8>, NativeError> {
    let der = |der: Result<PublicKeyX509Der<'_>, _>| der.map(|it| it.as_ref().to_vec());
    match KeyKind::of(key) {
        KeyKind::Rsa => der(rsa(key)?.public_key().as_der()),
        KeyKind::Ed25519 => der(ed25519(key)?.public_key().as_der()),
        KeyKind::Ec(it) => der(curve(parsing_algorithm(it), key)?.public_key().as_der()),
    }
    .map_err(failed)
}

/// Generates a private key in PKCS #8 DER.
pub(super) fn generate(kind: &str, curve: &str, bits: usize) -> Result<Vec<u8>, NativeError> {
    let unknown = || NativeError::new(format!("unsupported key type: {kind} {curve}"));
    match kind {
        "rsa" | "rsa-pss" => {
            let size = match bits {
                2048 => KeySize::Rsa2048,
                3072 => KeySize::Rsa3072,
                4096 => KeySize::Rsa4096,
                8192 => KeySize::Rsa8192,
                _ => {
                    return Err(NativeError::new(format!(
                        "unsupported RSA key size: {bits} bits; use 2048, 3072 or 4096"
                    )));
                }
            };
            let key = RsaKeyPair::generate(size).map_err(failed)?;
            let der: Pkcs8V1Der<'_> = key.as_der().map_err(failed)?;
            Ok(der.as_ref().to_vec())
        }
        "ec" => {
            let algorithm = parsing_algorithm(EllipticCurve::named(curve).ok_or_else(unknown)?);
            let key = EcdsaKeyPair::generate(algorithm).map_err(failed)?;
            Ok(key.to_pkcs8v1().map_err(failed)?.as_ref().to_vec())
        }
        "ed25519" => {
            let key = Ed25519KeyPair::generate().map_err(failed)?;
            Ok(key.to_pkcs8v1().map_err(failed)?.as_ref().to_vec())
        }
        _ => Err(unknown()),
    }
}
