//! AES (CBC, CTR, ECB, GCM) and `ChaCha20-Poly1305` on complete messages.

mod gcm_arbitrary_iv;

use aws_lc_rs::aead::{self, Aad, LessSafeKey, Nonce, UnboundKey};
use aws_lc_rs::cipher::{
    self, DecryptingKey, DecryptionContext, EncryptingKey, EncryptionContext,
    PaddedBlockDecryptingKey, PaddedBlockEncryptingKey, UnboundCipherKey,
};
use aws_lc_rs::iv::FixedLength;

use super::NativeError;

/// Length of the authentication tag. Shorter tags are not supported.
const TAG_LENGTH: usize = 16;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CipherDirection {
    /// AEAD modes append the tag to the result.
    Encrypt,
    /// AEAD modes expect the tag at the end of the message.
    Decrypt,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CipherPadding {
    Pkcs7,
    None,
}

/// Inputs of a cipher operation.
pub(super) struct CipherInput<'a> {
    pub(super) direction: CipherDirection,
    pub(super) padding: CipherPadding,
    pub(super) key: &'a [u8],
    pub(super) iv: &'a [u8],
    pub(super) aad: &'a [u8],
    pub(super) message: &'a [u8],
}

/// Cipher names, as in Node.
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

/// Encrypts or decrypts a message.
pub(super) fn run(name: &str, input: &CipherInput<'_>) -> Result<Vec<u8>, NativeError> {
    let name = name.to_ascii_lowercase();
    let name = name.strip_prefix("id-").unwrap_or(&name);
    let mode = name.rsplit('-').next().unwrap_or_default();
    let block = match (name, name.split('-').nth(1)) {
        ("chacha20-poly1305", _) => return run_aead(&aead::CHACHA20_POLY1305, input),
        (_, Some("128")) => &cipher::AES_128,
        (_, Some("192")) => &cipher::AES_192,
        (_, Some("256")) => &cipher::AES_256,
        _ => return Err(unknown(name)),
    };
    match mode {
        "gcm" if input.iv.len() != aead::NONCE_LEN => gcm_arbitrary_iv::run(block, input),
        "gcm" => run_aead(gcm_algorithm(block), input),
        "cbc" | "ecb" if input.padding == CipherPadding::Pkcs7 => run_padded(block, mode, input),
        "cbc" | "ecb" | "ctr" => run_unpadded(block, mode, input),
        _ => Err(unknown(name)),
    }
}

fn unknown(name: &str) -> NativeError {
    NativeError::new(format!("Unknown cipher: {name}")).with_code("ERR_CRYPTO_UNKNOWN_CIPHER")
}

fn gcm_algorithm(block: &'static cipher::Algorithm) -> &'static aead::Algorithm {
    if block == &cipher::AES_128 {
        &aead::AES_128_GCM
    } else if block == &cipher::AES_192 {
        &aead::AES_192_GCM
    } else {
        &aead::AES_256_GCM
    }
}

fn cipher_error(direction: CipherDirection) -> NativeError {
    match direction {
        CipherDirection::Encrypt => NativeError::new("encryption failed"),
        CipherDirection::Decrypt => {
            NativeError::new("Unsupported state or unable to authenticate data")
                .with_code("ERR_OSSL_BAD_DECRYPT")
        }
    }
}

fn invalid_key_length() -> NativeError {
    NativeError::new("Invalid key length").with_code("ERR_CRYPTO_INVALID_KEYLEN")
}

fn run_aead(
    algorithm: &'static aead::Algorithm,
    input: &CipherInput<'_>,
) -> Result<Vec<u8>, NativeError> {
    let key = UnboundKey::new(algorithm, input.key).map_err(|_unspecified| invalid_key_length())?;
    let key = LessSafeKey::new(key);
    let nonce = Nonce::try_assume_unique_for_key(input.iv).map_err(|_unspecified| {
        NativeError::new("Invalid initialization vector: expected 12 bytes")
            .with_code("ERR_CRYPTO_INVALID_IV")
    })?;
    let aad = Aad::from(input.aad);
    let mut text = input.message.to_vec();
    let cipher_error = |_unspecified| cipher_error(input.direction);
    match input.direction {
        CipherDirection::Encrypt => key
            .seal_in_place_append_tag(nonce, aad, &mut text)
            .map_err(cipher_error)?,
        CipherDirection::Decrypt => {
            key.open_in_place(nonce, aad, &mut text)
                .map_err(cipher_error)?;
            text.truncate(text.len().saturating_sub(TAG_LENGTH));
        }
    }
    Ok(text)
}

fn unbound_key(
    block: &'static cipher::Algorithm,
    input: &CipherInput<'_>,
) -> Result<UnboundCipherKey, NativeError> {
    UnboundCipherKey::new(block, input.key).map_err(|_unspecified| invalid_key_length())
}

fn iv(mode: &str, input: &CipherInput<'_>) -> Result<Option<[u8; 16]>, NativeError> {
    if mode == "ecb" {
        return Ok(None);
    }
    let iv = input.iv.try_into().map_err(|_wrong_length| {
        NativeError::new("Invalid initialization vector: expected 16 bytes")
            .with_code("ERR_CRYPTO_INVALID_IV")
    })?;
    Ok(Some(iv))
}

fn encryption(iv: Option<[u8; 16]>) -> EncryptionContext {
    iv.map_or(EncryptionContext::None, |it| {
        EncryptionContext::Iv128(FixedLength::from(it))
    })
}

fn decryption(iv: Option<[u8; 16]>) -> DecryptionContext {
    iv.map_or(DecryptionContext::None, |it| {
        DecryptionContext::Iv128(FixedLength::from(it))
    })
}

fn run_padded(
    block: &'static cipher::Algorithm,
    mode: &str,
    input: &CipherInput<'_>,
) -> Result<Vec<u8>, NativeError> {
    let key = unbound_key(block, input)?;
    let iv = iv(mode, input)?;
    let cipher_error = |_unspecified| cipher_error(input.direction);
    let mut text = input.message.to_vec();
    match input.direction {
        CipherDirection::Encrypt => {
            let key = match mode {
                "cbc" => PaddedBlockEncryptingKey::cbc_pkcs7(key),
                _ => PaddedBlockEncryptingKey::ecb_pkcs7(key),
            };
            key.and_then(|key| key.less_safe_encrypt(&mut text, encryption(iv)))
                .map_err(cipher_error)?;
            Ok(text)
        }
        CipherDirection::Decrypt => {
            let key = match mode {
                "cbc" => PaddedBlockDecryptingKey::cbc_pkcs7(key),
                _ => PaddedBlockDecryptingKey::ecb_pkcs7(key),
            };
            let key = key.map_err(cipher_error)?;
            let plain = key
                .decrypt(&mut text, decryption(iv))
                .map_err(cipher_error)?;
            Ok(plain.to_vec())
        }
    }
}

fn run_unpadded(
    block: &'static cipher::Algorithm,
    mode: &str,
    input: &CipherInput<'_>,
) -> Result<Vec<u8>, NativeError> {
    let key = unbound_key(block, input)?;
    let iv = iv(mode, input)?;
    let cipher_error = |_unspecified| cipher_error(input.direction);
    let mut text = input.message.to_vec();
    match input.direction {
        CipherDirection::Encrypt => {
            let key = match mode {
                "cbc" => EncryptingKey::cbc(key),
                "ecb" => EncryptingKey::ecb(key),
                _ => EncryptingKey::ctr(key),
            };
            key.and_then(|key| key.less_safe_encrypt(&mut text, encryption(iv)))
                .map_err(cipher_error)?;
        }
        CipherDirection::Decrypt => {
            let key = match mode {
                "cbc" => DecryptingKey::cbc(key),
                "ecb" => DecryptingKey::ecb(key),
                _ => DecryptingKey::ctr(key),
            };
            let key = key.map_err(cipher_error)?;
            key.decrypt(&mut text, decryption(iv))
                .map_err(cipher_error)?;
        }
    }
    Ok(text)
}
