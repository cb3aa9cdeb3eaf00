//! AES in the modes extensions ask for, and `ChaCha20-Poly1305`: a whole message at a time.

mod any_vector;

use aws_lc_rs::aead::{self, Aad, LessSafeKey, Nonce, UnboundKey};
use aws_lc_rs::cipher::{
    self, DecryptingKey, DecryptionContext, EncryptingKey, EncryptionContext,
    PaddedBlockDecryptingKey, PaddedBlockEncryptingKey, UnboundCipherKey,
};
use aws_lc_rs::iv::FixedLength;

use super::NativeError;

/// The length of the tag that is written; shorter ones are not offered.
const TAG_LENGTH: usize = 16;

/// What is done with a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    /// The result ends with the tag where the mode has one.
    Encrypt,
    /// The message ends with the tag where the mode has one.
    Decrypt,
}

/// Whether the last block is filled up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Padding {
    Pkcs7,
    None,
}

/// A message and what it is treated with.
pub(super) struct Job<'job> {
    pub(super) direction: Direction,
    pub(super) padding: Padding,
    pub(super) key: &'job [u8],
    pub(super) vector: &'job [u8],
    pub(super) additional: &'job [u8],
    pub(super) message: &'job [u8],
}

/// The names Node gives the ciphers.
pub(super) const NAMES: [&str; 13] = [
    "aes-128-cbc",
    "aes-128-ctr",
    "aes-128-ecb",
    "aes-128-gcm",
    "aes-192-cbc",
    "aes-192-ctr",
    "aes-192-ecb",
    "aes-192-gcm",
    "aes-256-cbc",
    "aes-256-ctr",
    "aes-256-ecb",
    "aes-256-gcm",
    "chacha20-poly1305",
];

/// Encrypts or decrypts.
pub(super) fn run(name: &str, job: &Job<'_>) -> Result<Vec<u8>, NativeError> {
    let name = name.to_ascii_lowercase();
    let name = name.strip_prefix("id-").unwrap_or(&name);
    let mode = name.rsplit('-').next().unwrap_or_default();
    let block = match (name, name.split('-').nth(1)) {
        ("chacha20-poly1305", _) => return sealed(&aead::CHACHA20_POLY1305, job),
        (_, Some("128")) => &cipher::AES_128,
        (_, Some("192")) => &cipher::AES_192,
        (_, Some("256")) => &cipher::AES_256,
        _ => return Err(unknown(name)),
    };
    match mode {
        "gcm" if job.vector.len() != aead::NONCE_LEN => any_vector::run(block, job),
        "gcm" => sealed(galois(block), job),
        "cbc" | "ecb" if job.padding == Padding::Pkcs7 => padded(block, mode, job),
        "cbc" | "ecb" | "ctr" => plain(block, mode, job),
        _ => Err(unknown(name)),
    }
}

fn unknown(name: &str) -> NativeError {
    NativeError::new(format!("Unknown cipher: {name}")).with_code("ERR_CRYPTO_UNKNOWN_CIPHER")
}

fn galois(block: &'static cipher::Algorithm) -> &'static aead::Algorithm {
    if block == &cipher::AES_128 {
        &aead::AES_128_GCM
    } else if block == &cipher::AES_192 {
        &aead::AES_192_GCM
    } else {
        &aead::AES_256_GCM
    }
}

fn refused(direction: Direction) -> NativeError {
    match direction {
        Direction::Encrypt => NativeError::new("the message cannot be encrypted"),
        Direction::Decrypt => NativeError::new("Unsupported state or unable to authenticate data")
            .with_code("ERR_OSSL_BAD_DECRYPT"),
    }
}

fn wrong_key() -> NativeError {
    NativeError::new("Invalid key length").with_code("ERR_CRYPTO_INVALID_KEYLEN")
}

fn sealed(algorithm: &'static aead::Algorithm, job: &Job<'_>) -> Result<Vec<u8>, NativeError> {
    let key = UnboundKey::new(algorithm, job.key).map_err(|_unspecified| wrong_key())?;
    let key = LessSafeKey::new(key);
    let nonce = Nonce::try_assume_unique_for_key(job.vector).map_err(|_unspecified| {
        NativeError::new("Invalid initialization vector: this mode takes 12 bytes here")
            .with_code("ERR_CRYPTO_INVALID_IV")
    })?;
    let additional = Aad::from(job.additional);
    let mut text = job.message.to_vec();
    let refused = |_unspecified| refused(job.direction);
    match job.direction {
        Direction::Encrypt => key
            .seal_in_place_append_tag(nonce, additional, &mut text)
            .map_err(refused)?,
        Direction::Decrypt => {
            key.open_in_place(nonce, additional, &mut text)
                .map_err(refused)?;
            text.truncate(text.len().saturating_sub(TAG_LENGTH));
        }
    }
    Ok(text)
}

fn bound(
    block: &'static cipher::Algorithm,
    job: &Job<'_>,
) -> Result<UnboundCipherKey, NativeError> {
    UnboundCipherKey::new(block, job.key).map_err(|_unspecified| wrong_key())
}

fn vector(mode: &str, job: &Job<'_>) -> Result<Option<[u8; 16]>, NativeError> {
    if mode == "ecb" {
        return Ok(None);
    }
    let vector = job.vector.try_into().map_err(|_wrong_length| {
        NativeError::new("Invalid initialization vector: this mode takes 16 bytes")
            .with_code("ERR_CRYPTO_INVALID_IV")
    })?;
    Ok(Some(vector))
}

fn encryption(vector: Option<[u8; 16]>) -> EncryptionContext {
    vector.map_or(EncryptionContext::None, |it| {
        EncryptionContext::Iv128(FixedLength::from(it))
    })
}

fn decryption(vector: Option<[u8; 16]>) -> DecryptionContext {
    vector.map_or(DecryptionContext::None, |it| {
        DecryptionContext::Iv128(FixedLength::from(it))
    })
}

fn padded(
    block: &'static cipher::Algorithm,
    mode: &str,
    job: &Job<'_>,
) -> Result<Vec<u8>, NativeError> {
    let key = bound(block, job)?;
    let vector = vector(mode, job)?;
    let refused = |_unspecified| refused(job.direction);
    let mut text = job.message.to_vec();
    match job.direction {
        Direction::Encrypt => {
            let key = match mode {
                "cbc" => PaddedBlockEncryptingKey::cbc_pkcs7(key),
                _ => PaddedBlockEncryptingKey::ecb_pkcs7(key),
            };
            key.and_then(|key| key.less_safe_encrypt(&mut text, encryption(vector)))
                .map_err(refused)?;
            Ok(text)
        }
        Direction::Decrypt => {
            let key = match mode {
                "cbc" => PaddedBlockDecryptingKey::cbc_pkcs7(key),
                _ => PaddedBlockDecryptingKey::ecb_pkcs7(key),
            };
            let key = key.map_err(refused)?;
            let plain = key
                .decrypt(&mut text, decryption(vector))
                .map_err(refused)?;
            Ok(plain.to_vec())
        }
    }
}

fn plain(
    block: &'static cipher::Algorithm,
    mode: &str,
    job: &Job<'_>,
) -> Result<Vec<u8>, NativeError> {
    let key = bound(block, job)?;
    let vector = vector(mode, job)?;
    let refused = |_unspecified| refused(job.direction);
    let mut text = job.message.to_vec();
    match job.direction {
        Direction::Encrypt => {
            let key = match mode {
                "cbc" => EncryptingKey::cbc(key),
                "ecb" => EncryptingKey::ecb(key),
                _ => EncryptingKey::ctr(key),
            };
            key.and_then(|key| key.less_safe_encrypt(&mut text, encryption(vector)))
                .map_err(refused)?;
        }
        Direction::Decrypt => {
            let key = match mode {
                "cbc" => DecryptingKey::cbc(key),
                "ecb" => DecryptingKey::ecb(key),
                _ => DecryptingKey::ctr(key),
            };
            let key = key.map_err(refused)?;
            key.decrypt(&mut text, decryption(vector))
                .map_err(refused)?;
        }
    }
    Ok(text)
}
