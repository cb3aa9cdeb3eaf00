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

/// Where an identifier of an algorithm may stand in a key.
const HEAD: usize = 96;

const RSA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01];
const ED25519: &[u8] = &[0x2b, 0x65, 0x70];
const P256: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07];
const P384: &[u8] = &[0x2b, 0x81, 0x04, 0x00, 0x22];
const P521: &[u8] = &[0x2b, 0x81, 0x04, 0x00, 0x23];

/// What a key is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Rsa,
    Curve(Curve),
    Ed25519,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Curve {
    P256,
    P384,
    P521,
}

impl Curve {
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

impl Kind {
    /// Reads the kind of key from its encoding. What names no algorithm is the plain RSA form.
    pub(super) fn of(key: &[u8]) -> Self {
        let head = key.get(..HEAD.min(key.len())).unwrap_or_default();
        let has = |identifier: &[u8]| head.windows(identifier.len()).any(|it| it == identifier);
        // The plain form of a private key on a curve names it behind the key.
        let names = |identifier: &[u8]| key.windows(identifier.len()).any(|it| it == identifier);
        if has(RSA) {
            Self::Rsa
        } else if has(P256) {
            Self::Curve(Curve::P256)
        } else if has(P384) {
            Self::Curve(Curve::P384)
        } else if has(P521) {
            Self::Curve(Curve::P521)
        } else if has(ED25519) {
            Self::Ed25519
        } else if key.len() < HEAD * 3 && names(P384) {
            Self::Curve(Curve::P384)
        } else if key.len() < HEAD * 3 && names(P521) {
            Self::Curve(Curve::P521)
        } else {
            Self::Rsa
        }
    }

    /// Returns Node's name for it, and the curve's.
    pub(super) fn names(self) -> (&'static str, Option<&'static str>) {
        match self {
            Self::Rsa => ("rsa", None),
            Self::Curve(curve) => ("ec", Some(curve.name())),
            Self::Ed25519 => ("ed25519", None),
        }
    }
}

/// How a signature is made.
pub(super) struct Scheme<'scheme> {
    /// Such as `sha256`; Ed25519 has its own.
    pub(super) digest: &'scheme str,
    /// RSA: PSS instead of PKCS #1.
    pub(super) is_probabilistic: bool,
    /// ECDSA: two numbers side by side instead of DER.
    pub(super) is_fixed: bool,
}

impl Scheme<'_> {
    fn unsupported(&self) -> NativeError {
        NativeError::new(format!(
            "signatures with this key and {} are not available",
            self.digest
        ))
        .with_code("ERR_CRYPTO_UNSUPPORTED_OPERATION")
    }

    fn rsa(&self) -> Option<&'static dyn RsaEncoding> {
        Some(match (self.digest, self.is_probabilistic) {
            ("sha256", false) => &signature::RSA_PKCS1_SHA256,
            ("sha384", false) => &signature::RSA_PKCS1_SHA384,
            ("sha512", false) => &signature::RSA_PKCS1_SHA512,
            ("sha256", true) => &signature::RSA_PSS_SHA256,
            ("sha384", true) => &signature::RSA_PSS_SHA384,
            ("sha512", true) => &signature::RSA_PSS_SHA512,
            _ => return None,
        })
    }

    fn curve(&self, curve: Curve) -> Option<&'static EcdsaSigningAlgorithm> {
        Some(match (curve, self.digest, self.is_fixed) {
            (Curve::P256, "sha256", false) => &signature::ECDSA_P256_SHA256_ASN1_SIGNING,
            (Curve::P256, "sha256", true) => &signature::ECDSA_P256_SHA256_FIXED_SIGNING,
            (Curve::P384, "sha384", false) => &signature::ECDSA_P384_SHA384_ASN1_SIGNING,
            (Curve::P384, "sha384", true) => &signature::ECDSA_P384_SHA384_FIXED_SIGNING,
            (Curve::P521, "sha512", false) => &signature::ECDSA_P521_SHA512_ASN1_SIGNING,
            (Curve::P521, "sha512", true) => &signature::ECDSA_P521_SHA512_FIXED_SIGNING,
            _ => return None,
        })
    }

    fn verification(&self, kind: Kind) -> Option<&'static dyn VerificationAlgorithm> {
        let digest = self.digest;
        Some(match kind {
            Kind::Ed25519 => &signature::ED25519,
            Kind::Rsa => match (digest, self.is_probabilistic) {
                ("sha1", false) => &signature::RSA_PKCS1_2048_8192_SHA1_FOR_LEGACY_USE_ONLY,
                ("sha256", false) => &signature::RSA_PKCS1_2048_8192_SHA256,
                ("sha384", false) => &signature::RSA_PKCS1_2048_8192_SHA384,
                ("sha512", false) => &signature::RSA_PKCS1_2048_8192_SHA512,
                ("sha256", true) => &signature::RSA_PSS_2048_8192_SHA256,
                ("sha384", true) => &signature::RSA_PSS_2048_8192_SHA384,
                ("sha512", true) => &signature::RSA_PSS_2048_8192_SHA512,
                _ => return None,
            },
            Kind::Curve(curve) => match (curve, digest, self.is_fixed) {
                (Curve::P256, "sha256", false) => &signature::ECDSA_P256_SHA256_ASN1,
                (Curve::P256, "sha384", false) => &signature::ECDSA_P256_SHA384_ASN1,
                (Curve::P256, "sha256", true) => &signature::ECDSA_P256_SHA256_FIXED,
                (Curve::P384, "sha256", false) => &signature::ECDSA_P384_SHA256_ASN1,
                (Curve::P384, "sha384", false) => &signature::ECDSA_P384_SHA384_ASN1,
                (Curve::P384, "sha384", true) => &signature::ECDSA_P384_SHA384_FIXED,
                (Curve::P521, "sha256", false) => &signature::ECDSA_P521_SHA256_ASN1,
                (Curve::P521, "sha384", false) => &signature::ECDSA_P521_SHA384_ASN1,
                (Curve::P521, "sha512", false) => &signature::ECDSA_P521_SHA512_ASN1,
                (Curve::P521, "sha512", true) => &signature::ECDSA_P521_SHA512_FIXED,
                _ => return None,
            },
        })
    }
}

fn bad_key(error: KeyRejected) -> NativeError {
    NativeError::new(format!("the key cannot be read: {error}")).with_code("ERR_OSSL_UNSUPPORTED")
}

fn failed(_unspecified: Unspecified) -> NativeError {
    NativeError::new("the operation with this key failed")
}

fn rsa(key: &[u8]) -> Result<RsaKeyPair, NativeError> {
    RsaKeyPair::from_pkcs8(key)
        .or_else(|_| RsaKeyPair::from_der(key))
        .map_err(bad_key)
}

fn curve(
    algorithm: &'static EcdsaSigningAlgorithm,
    key: &[u8],
) -> Result<EcdsaKeyPair, NativeError> {
    EcdsaKeyPair::from_pkcs8(algorithm, key)
        .or_else(|_| EcdsaKeyPair::from_private_key_der(algorithm, key))
        .map_err(bad_key)
}

fn edwards(key: &[u8]) -> Result<Ed25519KeyPair, NativeError> {
    Ed25519KeyPair::from_pkcs8_maybe_unchecked(key).map_err(bad_key)
}

/// Any algorithm of the curve, to read a key with.
fn reading(curve: Curve) -> &'static EcdsaSigningAlgorithm {
    match curve {
        Curve::P256 => &signature::ECDSA_P256_SHA256_ASN1_SIGNING,
        Curve::P384 => &signature::ECDSA_P384_SHA384_ASN1_SIGNING,
        Curve::P521 => &signature::ECDSA_P521_SHA512_ASN1_SIGNING,
    }
}

/// Signs a message with a private key.
pub(super) fn sign(
    key: &[u8],
    scheme: &Scheme<'_>,
    message: &[u8],
) -> Result<Vec<u8>, NativeError> {
    let random = SystemRandom::new();
    match Kind::of(key) {
        Kind::Ed25519 => Ok(edwards(key)?.sign(message).as_ref().to_vec()),
        Kind::Rsa => {
            let encoding = scheme.rsa().ok_or_else(|| scheme.unsupported())?;
            let key = rsa(key)?;
            let mut signature = vec![0; key.public_modulus_len()];
            key.sign(encoding, &random, message, &mut signature)
                .map_err(failed)?;
            Ok(signature)
        }
        Kind::Curve(it) => {
            let algorithm = scheme.curve(it).ok_or_else(|| scheme.unsupported())?;
            let signature = curve(algorithm, key)?
                .sign(&random, message)
                .map_err(failed)?;
            Ok(signature.as_ref().to_vec())
        }
    }
}

/// Returns whether a signature is of this message and by the owner of this public key.
pub(super) fn verify(
    key: &[u8],
    scheme: &Scheme<'_>,
    message: &[u8],
    signature: &[u8],
) -> Result<bool, NativeError> {
    let algorithm = scheme
        .verification(Kind::of(key))
        .ok_or_else(|| scheme.unsupported())?;
    let key = UnparsedPublicKey::new(algorithm, key);
    Ok(key.verify(message, signature).is_ok())
}

/// Returns the public half of a private key, as an X.509 key.
pub(super) fn public_half(key: &[u8]) -> Result<Vec<u8>, NativeError> {
    let der = |der: Result<PublicKeyX509Der<'_>, _>| der.map(|it| it.as_ref().to_vec());
    match Kind::of(key) {
        Kind::Rsa => der(rsa(key)?.public_key().as_der()),
        Kind::Ed25519 => der(edwards(key)?.public_key().as_der()),
        Kind::Curve(it) => der(curve(reading(it), key)?.public_key().as_der()),
    }
    .map_err(failed)
}

/// Makes a private key, in PKCS #8.
pub(super) fn generate(kind: &str, curve: &str, bits: usize) -> Result<Vec<u8>, NativeError> {
    let unknown = || NativeError::new(format!("keys of the kind {kind} {curve} are not available"));
    match kind {
        "rsa" | "rsa-pss" => {
            let size = match bits {
                2048 => KeySize::Rsa2048,
                3072 => KeySize::Rsa3072,
                4096 => KeySize::Rsa4096,
                8192 => KeySize::Rsa8192,
                _ => {
                    return Err(NativeError::new(format!(
                        "RSA keys of {bits} bits are not available; use 2048, 3072 or 4096"
                    )));
                }
            };
            let key = RsaKeyPair::generate(size).map_err(failed)?;
            let der: Pkcs8V1Der<'_> = key.as_der().map_err(failed)?;
            Ok(der.as_ref().to_vec())
        }
        "ec" => {
            let algorithm = reading(Curve::named(curve).ok_or_else(unknown)?);
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
