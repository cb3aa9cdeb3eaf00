//! Hashes, keyed hashes, key derivation and randomness, and the way to ciphers and signatures: the Rust
//! half of `crypto`.

mod cipher;
mod md5;
mod scrypt;
mod signature;

use std::num::NonZeroU32;

use aws_lc_rs::{digest, hkdf, hmac, pbkdf2};
use serde::Deserialize;
use serde_json::json;

use super::{NativeError, Request};
use crate::engine::Reply;

/// Most random bytes one call gives, as in Web Crypto's spirit of a sane limit.
const MOST_RANDOM: usize = 64 * 1024 * 1024;

/// Most memory one derivation of a key may take.
const MOST_DERIVATION_MEMORY: usize = 512 * 1024 * 1024;

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Arguments {
    algorithm: String,
    length: usize,
    /// Where the key ends in the bytes, the rest being the message.
    key_length: usize,
    iterations: u32,
    /// How long the parts are that the bytes are made of; what is left is the last one.
    parts: Vec<usize>,
    decrypts: bool,
    has_no_padding: bool,
    is_probabilistic: bool,
    is_fixed: bool,
    kind: String,
    curve: String,
    cost: usize,
    block_size: usize,
    parallelization: usize,
    memory: usize,
}

/// Performs an operation.
pub(super) fn run(request: &Request) -> Result<Reply, NativeError> {
    let arguments: Arguments = request.read()?;
    let bytes = request.bytes.as_deref().unwrap_or_default();
    let algorithm = arguments.algorithm.to_ascii_lowercase().replace('-', "");
    match request.operation.as_str() {
        "hash" => hash(&algorithm, bytes).map(Reply::Bytes),
        "hmac" => {
            let (key, message) = split(bytes, arguments.key_length)?;
            keyed_hash(&algorithm, key, message).map(Reply::Bytes)
        }
        "pbkdf2" => {
            let (password, salt) = split(bytes, arguments.key_length)?;
            derive(&algorithm, password, salt, &arguments).map(Reply::Bytes)
        }
        "random" => random(arguments.length).map(Reply::Bytes),
        "ciphers" => Ok(Reply::Json(json!(cipher::NAMES))),
        "cipher" | "scrypt" | "hkdf" | "sign" | "verify" | "keyKind" | "publicKey"
        | "generateKey" => with_keys(request, &arguments, &algorithm, bytes),
        "hashes" => Ok(Reply::Json(json!([
            "md5", "sha1", "sha224", "sha256", "sha384", "sha512"
        ]))),
        _ => Err(request.unknown("crypto")),
    }
}

/// Performs an operation whose bytes are of several parts.
fn with_keys(
    request: &Request,
    arguments: &Arguments,
    algorithm: &str,
    bytes: &[u8],
) -> Result<Reply, NativeError> {
    let scheme = signature::Scheme {
        digest: algorithm,
        is_probabilistic: arguments.is_probabilistic,
        is_fixed: arguments.is_fixed,
    };
    match request.operation.as_str() {
        "cipher" => {
            let [key, vector, additional, message] = parts(bytes, &arguments.parts)?;
            let job = cipher::Job {
                direction: if arguments.decrypts {
                    cipher::Direction::Decrypt
                } else {
                    cipher::Direction::Encrypt
                },
                padding: if arguments.has_no_padding {
                    cipher::Padding::None
                } else {
                    cipher::Padding::Pkcs7
                },
                key,
                vector,
                additional,
                message,
            };
            cipher::run(&arguments.algorithm, &job).map(Reply::Bytes)
        }
        "scrypt" => {
            let [password, salt] = parts(bytes, &arguments.parts)?;
            let cost = scrypt::Cost {
                rounds: arguments.cost,
                block_size: arguments.block_size,
                parallelization: arguments.parallelization,
                memory: arguments.memory.min(MOST_DERIVATION_MEMORY),
            };
            let length = arguments.length.min(MOST_RANDOM);
            scrypt::derive(password, salt, cost, length).map(Reply::Bytes)
        }
        "hkdf" => {
            let [secret, salt, info] = parts(bytes, &arguments.parts)?;
            expand(algorithm, secret, salt, info, arguments.length).map(Reply::Bytes)
        }
        "sign" => {
            let [key, message] = parts(bytes, &arguments.parts)?;
            signature::sign(key, &scheme, message).map(Reply::Bytes)
        }
        "verify" => {
            let [key, signature, message] = parts(bytes, &arguments.parts)?;
            let is_valid = signature::verify(key, &scheme, message, signature)?;
            Ok(Reply::Json(json!(is_valid)))
        }
        "keyKind" => Ok(Reply::Json(json!(signature::Kind::of(bytes).names()))),
        "publicKey" => signature::public_half(bytes).map(Reply::Bytes),
        _ => {
            let Arguments { kind, curve, .. } = arguments;
            signature::generate(kind, curve, arguments.length).map(Reply::Bytes)
        }
    }
}

/// Takes the bytes apart; the lengths are of all parts but the last.
fn parts<'bytes, const COUNT: usize>(
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
    let mut key = vec![0; length.min(MOST_RANDOM)];
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
        .ok_or_else(|| NativeError::new("the key is cut short"))
}

fn unsupported(algorithm: &str) -> NativeError {
    NativeError::new(format!("Digest method not supported: {algorithm}"))
        .with_code("ERR_CRYPTO_INVALID_DIGEST")
}

fn hash(algorithm: &str, bytes: &[u8]) -> Result<Vec<u8>, NativeError> {
    let algorithm = match algorithm {
        "md5" => return Ok(md5::digest(bytes).to_vec()),
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

fn keyed_hash(algorithm: &str, key: &[u8], message: &[u8]) -> Result<Vec<u8>, NativeError> {
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
    arguments: &Arguments,
) -> Result<Vec<u8>, NativeError> {
    let algorithm = match algorithm {
        "sha1" => pbkdf2::PBKDF2_HMAC_SHA1,
        "sha256" => pbkdf2::PBKDF2_HMAC_SHA256,
        "sha384" => pbkdf2::PBKDF2_HMAC_SHA384,
        "sha512" => pbkdf2::PBKDF2_HMAC_SHA512,
        other => return Err(unsupported(other)),
    };
    let iterations = NonZeroU32::new(arguments.iterations)
        .ok_or_else(|| NativeError::new("the number of iterations must be at least 1"))?;
    let mut key = vec![0; arguments.length.min(MOST_RANDOM)];
    pbkdf2::derive(algorithm, iterations, salt, password, &mut key);
    Ok(key)
}

fn random(length: usize) -> Result<Vec<u8>, NativeError> {
    if length > MOST_RANDOM {
        return Err(
            NativeError::new(format!("at most {MOST_RANDOM} random bytes at a time"))
                .with_code("ERR_OUT_OF_RANGE"),
        );
    }
    let mut bytes = vec![0; length];
    aws_lc_rs::rand::fill(&mut bytes)
        .map_err(|_unspecified| NativeError::new("the system gave no random bytes"))?;
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
    fn keyed_hashes_match_the_published_vectors() {
        let expected = "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843";
        let tag = keyed_hash("sha256", b"Jefe", b"what do ya want for nothing?").unwrap();
        assert_eq!(hex(&tag), expected);
    }
}
