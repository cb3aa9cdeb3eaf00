//! Hashes, HMAC, key derivation and random bytes, with ciphers and signatures in submodules: native
//! half of `crypto`.

mod cipher;
mod scrypt;
mod signature;

use std::num::NonZeroU32;

use aws_lc_rs::{digest, hkdf, hmac, pbkdf2};
use md5::{Digest as _, Md5};
use serde::Deserialize;
use serde_json::json;

use super::{NativeError, NativeRequest};
use crate::engine::NativeReply;

/// Maximum number of random or derived bytes per call.
const MAX_RANDOM: usize = 64 * 1024 * 1024;

/// Maximum memory of a key derivation, in bytes.
const MAX_DERIVATION_MEMORY: usize = 512 * 1024 * 1024;

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct CryptoArguments {
    algorithm: String,
    length: usize,
    /// Length of the key at the start of the bytes. The rest is the message.
    key_length: usize,
    iterations: u32,
    /// Lengths of the concatenated inputs, except the last, which takes the remaining bytes.
    parts: Vec<usize>,
    decrypts: bool,
    has_no_padding: bool,
    is_pss: bool,
    is_fixed: bool,
    kind: String,
    curve: String,
    cost: usize,
    block_size: usize,
    parallelization: usize,
    memory: usize,
}

pub(super) fn run(request: &NativeRequest) -> Result<NativeReply, NativeError> {
    let arguments: CryptoArguments = request.read()?;
    let bytes = request.bytes.as_deref().unwrap_or_default();
    let algorithm = arguments.algorithm.to_ascii_lowercase().replace('-', "");
    match request.operation.as_str() {
        "hash" => hash(&algorithm, bytes).map(NativeReply::Bytes),
        "hmac" => {
            let (key, message) = split(bytes, arguments.key_length)?;
            hmac_digest(&algorithm, key, message).map(NativeReply::Bytes)
        }
        "pbkdf2" => {
            let (password, salt) = split(bytes, arguments.key_length)?;
            derive(&algorithm, password, salt, &arguments).map(NativeReply::Bytes)
        }
        "random" => random(arguments.length).map(NativeReply::Bytes),
        "ciphers" => Ok(NativeReply::Json(json!(cipher::NAMES))),
        "cipher" | "scrypt" | "hkdf" | "sign" | "verify" | "keyKind" | "publicKey"
        | "generateKey" => run_with_inputs(request, &arguments, &algorithm, bytes),
        "hashes" => Ok(NativeReply::Json(json!([
            "md5", "sha1", "sha224", "sha256", "sha384", "sha512"
        ]))),
        _ => Err(request.unknown("crypto")),
    }
}

/// Runs an operation whose bytes are several concatenated inputs.
fn run_with_inputs(
    request: &NativeRequest,
    arguments: &CryptoArguments,
    algorithm: &str,
    bytes: &[u8],
) -> Result<NativeReply, NativeError> {
    let scheme = signature::SignatureScheme {
        digest: algorithm,
        is_pss: arguments.is_pss,
        is_fixed: arguments.is_fixed,
    };
    match request.operation.as_str() {
        "cipher" => {
            let [key, iv, aad, message] = split_inputs(bytes, &arguments.parts)?;
            let input = cipher::CipherInput {
                direction: if arguments.decrypts {
                    cipher::CipherDirection::Decrypt
                } else {
                    cipher::CipherDirection::Encrypt
                },
                padding: if arguments.has_no_padding {
                    cipher::CipherPadding::None
                } else {
                    cipher::CipherPadding::Pkcs7
                },
                key,
                iv,
                aad,
                message,
            };
            cipher::run(&arguments.algorithm, &input).map(NativeReply::Bytes)
        }
        "scrypt" => {
            let [password, salt] = split_inputs(bytes, &arguments.parts)?;
            let cost = scrypt::ScryptCost {
                rounds: arguments.cost,
                block_size: arguments.block_size,
                parallelization: arguments.parallelization,
                memory: arguments.memory.min(MAX_DERIVATION_MEMORY),
            };
            let length = arguments.length.min(MAX_RANDOM);
            scrypt::derive(password, salt, cost, length).map(NativeReply::Bytes)
        }
        "hkdf" => {
            let [secret, salt, info] = split_inputs(bytes, &arguments.parts)?;
            expand(algorithm, secret, salt, info, arguments.length).map(NativeReply::Bytes)
        }
        "sign" => {
            let [key, message] = split_inputs(bytes, &arguments.parts)?;
            signature::sign(key, &scheme, message).map(NativeReply::Bytes)
        }
        "verify" => {
            let [key, signature, message] = split_inputs(bytes, &arguments.parts)?;
            let is_valid = signature::verify(key, &scheme, message, signature)?;
            Ok(NativeReply::Json(json!(is_valid)))
        }
        "keyKind" => Ok(NativeReply::Json(json!(
            signature::KeyKind::of(bytes).names()
        ))),
        "publicKey" => signature::public_key_of(bytes).map(NativeReply::Bytes),
        _ => {
            let CryptoArguments { kind, curve, .. } = arguments;
            signature::generate(kind, curve, arguments.length).map(NativeReply::Bytes)
        }
    }
}

/// Splits the bytes into `COUNT` inputs. The last one takes the bytes beyond `lengths`.
fn split_inputs<'bytes, const COUNT: usize>(
    bytes: &'bytes [u8],
    lengths: &[usize],
) -> Result<[&'bytes [u8]; COUNT], NativeError> {
    let mut found: [&[u8]; COUNT] = [&[]; COUNT];
    let mut rest = bytes;
    let mut lengths = lengths.iter();
    for part in &mut found {
        let length = lengths.next().copied().unwrap_or(rest.len());
        (*part, rest) = split(rest, length)?;
    }
    Ok(found)
}

fn expand(
    algorithm: &str,
    secret: &[u8],
    salt: &[u8],
    info: &[u8],
    length: usize,
) -> Result<Vec<u8>, NativeError> {
    struct Length(usize);
    impl hkdf::KeyType for Length {
        fn len(&self) -> usize {
            self.0
        }
    }
    let algorithm = match algorithm {
        "sha1" => hkdf::HKDF_SHA1_FOR_LEGACY_USE_ONLY,
        "sha256" => hkdf::HKDF_SHA256,
        "sha384" => hkdf::HKDF_SHA384,
        "sha512" => hkdf::HKDF_SHA512,
        other => return Err(unsupported(other)),
    };
    let too_long = |_unspecified| {
        NativeError::new("Invalid key length").with_code("ERR_CRYPTO_INVALID_KEYLEN")
    };
    let mut key = vec![0; length.min(MAX_RANDOM)];
    hkdf::Salt::new(algorithm, salt)
        .extract(secret)
        .expand(&[info], Length(key.len()))
        .and_then(|okm| okm.fill(&mut key))
        .map_err(too_long)?;
    Ok(key)
}

fn split(bytes: &[u8], position: usize) -> Result<(&[u8], &[u8]), NativeError> {
    bytes
        .split_at_checked(position)
        .ok_or_else(|| NativeError::new("the input is too short"))
}

fn unsupported(algorithm: &str) -> NativeError {
    NativeError::new(format!("Digest method not supported: {algorithm}"))
        .with_code("ERR_CRYPTO_INVALID_DIGEST")
}

fn hash(algorithm: &str, bytes: &[u8]) -> Result<Vec<u8>, NativeError> {
    let algorithm = match algorithm {
        "md5" => return Ok(Md5::digest(bytes).to_vec()),
        "sha1" => &digest::SHA1_FOR_LEGACY_USE_ONLY,
        "sha224" => &digest::SHA224,
        "sha256" => &digest::SHA256,
        "sha384" => &digest::SHA384,
        "sha512" => &digest::SHA512,
        "sha512256" | "sha512/256" => &digest::SHA512_256,
        "sha3256" => &digest::SHA3_256,
        "sha3384" => &digest::SHA3_384,
        "sha3512" => &digest::SHA3_512,
        other => return Err(unsupported(other)),
    };
    Ok(digest::digest(algorithm, bytes).as_ref().to_vec())
}

fn hmac_digest(algorithm: &str, key: &[u8], message: &[u8]) -> Result<Vec<u8>, NativeError> {
    let algorithm = match algorithm {
        "sha1" => hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY,
        "sha224" => hmac::HMAC_SHA224,
        "sha256" => hmac::HMAC_SHA256,
        "sha384" => hmac::HMAC_SHA384,
        "sha512" => hmac::HMAC_SHA512,
        other => return Err(unsupported(other)),
    };
    Ok(hmac::sign(&hmac::Key::new(algorithm, key), message)
        .as_ref()
        .to_vec())
}

fn derive(
    algorithm: &str,
    password: &[u8],
    salt: &[u8],
    arguments: &CryptoArguments,
) -> Result<Vec<u8>, NativeError> {
    let algorithm = match algorithm {
        "sha1" => pbkdf2::PBKDF2_HMAC_SHA1,
        "sha256" => pbkdf2::PBKDF2_HMAC_SHA256,
        "sha384" => pbkdf2::PBKDF2_HMAC_SHA384,
        "sha512" => pbkdf2::PBKDF2_HMAC_SHA512,
        other => return Err(unsupported(other)),
    };
    let iterations = NonZeroU32::new(arguments.iterations)
        .ok_or_else(|| NativeError::new("iterations must be at least 1"))?;
    let mut key = vec![0; arguments.length.min(MAX_RANDOM)];
    pbkdf2::derive(algorithm, iterations, salt, password, &mut key);
    Ok(key)
}

fn random(length: usize) -> Result<Vec<u8>, NativeError> {
    if length > MAX_RANDOM {
        return Err(NativeError::new(format!(
            "cannot generate more than {MAX_RANDOM} random bytes per call"
        ))
        .with_code("ERR_OUT_OF_RANGE"));
    }
    let mut bytes = vec![0; length];
    aws_lc_rs::rand::fill(&mut bytes)
        .map_err(|_unspecified| NativeError::new("cannot get random bytes from the system"))?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(bytes: &[u8]) -> String {
        bytes
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect::<Vec<_>>()
            .concat()
    }

    #[test]
    fn digests_match_the_published_vectors() {
        for (algorithm, expected) in [
            ("md5", "900150983cd24fb0d6963f7d28e17f72"),
            ("sha1", "a9993e364706816aba3e25717850c26c9cd0d89d"),
            (
                "sha256",
                "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
            ),
        ] {
            assert_eq!(
                hex(&hash(algorithm, b"abc").unwrap()),
                expected,
                "{algorithm}"
            );
        }
        let long = vec![b'a'; 1000];
        assert_eq!(
            hex(&hash("md5", &long).unwrap()),
            "cabe45dcc9ae5b66ba86600cca6b8ba8"
        );
        assert_eq!(
            hex(&hash("md5", b"").unwrap()),
            "d41d8cd98f00b204e9800998ecf8427e"
        );
        assert!(hash("whirlpool", b"").is_err());
    }

    #[test]
    fn hmacs_match_the_published_vectors() {
        let expected = "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843";
        let tag = hmac_digest("sha256", b"Jefe", b"what do ya want for nothing?").unwrap();
        assert_eq!(hex(&tag), expected);
    }
}
