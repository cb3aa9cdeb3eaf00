//! AES-GCM with initialization vectors of any length, built from counter mode and GHASH as in
//! NIST SP 800-38D.
//!
//! aws-lc-rs supports only 12-byte vectors, and the `aes-gcm` crate only lengths known at compile
//! time.

use aws_lc_rs::cipher::{Algorithm, EncryptingKey, EncryptionContext, UnboundCipherKey};
use aws_lc_rs::constant_time::verify_slices_are_equal;
use aws_lc_rs::iv::FixedLength;
use ghash::GHash;
use ghash::universal_hash::UniversalHash as _;

use super::{
    CipherDirection, CipherInput, NativeError, TAG_LENGTH, cipher_error, invalid_key_length,
};

const BLOCK: usize = 16;

/// Node's maximum length of an initialization vector.
const MAX_IV: usize = 128;

/// Encrypts or decrypts with an initialization vector that is not 12 bytes long.
pub(super) fn run(
    block: &'static Algorithm,
    input: &CipherInput<'_>,
) -> Result<Vec<u8>, NativeError> {
    if input.iv.is_empty() || input.iv.len() > MAX_IV {
        return Err(
            NativeError::new("Invalid initialization vector").with_code("ERR_CRYPTO_INVALID_IV")
        );
    }
    let key = GcmKey::new(block, input)?;
    match input.direction {
        CipherDirection::Encrypt => {
            let mut text = input.message.to_vec();
            key.apply_key_stream(&mut text)?;
            let tag = key.tag(&text)?;
            text.extend_from_slice(&tag);
            Ok(text)
        }
        CipherDirection::Decrypt => {
            let split = input.message.len().checked_sub(TAG_LENGTH);
            let parts = split.and_then(|at| input.message.split_at_checked(at));
            let (sealed, tag) = parts.ok_or_else(|| cipher_error(input.direction))?;
            verify_slices_are_equal(&key.tag(sealed)?, tag)
                .map_err(|_different| cipher_error(input.direction))?;
            let mut text = sealed.to_vec();
            key.apply_key_stream(&mut text)?;
            Ok(text)
        }
    }
}

struct GcmKey<'a> {
    block: &'static Algorithm,
    input: &'a CipherInput<'a>,
    hash: GHash,
    /// The counter block derived from the initialization vector: encrypts the tag, and precedes
    /// the counters of the message.
    first: u128,
}

impl<'a> GcmKey<'a> {
    fn new(block: &'static Algorithm, input: &'a CipherInput<'a>) -> Result<Self, NativeError> {
        let mut hash_key = [0; BLOCK];
        apply_counter(block, input, 0, &mut hash_key)?;
        let hash = GHash::new(&hash_key.into());
        let first = hashed(&hash, [input.iv], [0, bits(input.iv)]);
        Ok(Self {
            block,
            input,
            hash,
            first: u128::from_be_bytes(first),
        })
    }

    /// XORs the key stream of the message into `text`. Only the low 32 bits of the counter are
    /// incremented.
    fn apply_key_stream(&self, text: &mut [u8]) -> Result<(), NativeError> {
        let fixed = self.first & !u128::from(u32::MAX);
        let low = u32::try_from(self.first & u128::from(u32::MAX)).unwrap_or_default();
        let next = low.wrapping_add(1);
        let blocks_left = (u32::MAX - next) as usize;
        let before = blocks_left
            .saturating_add(1)
            .saturating_mul(BLOCK)
            .min(text.len());
        if let Some((head, tail)) = text.split_at_mut_checked(before) {
            apply_counter(self.block, self.input, fixed | u128::from(next), head)?;
            if !tail.is_empty() {
                apply_counter(self.block, self.input, fixed, tail)?;
            }
        }
        Ok(())
    }

    fn tag(&self, sealed: &[u8]) -> Result<[u8; TAG_LENGTH], NativeError> {
        let aad = self.input.aad;
        let mut tag = hashed(&self.hash, [aad, sealed], [bits(aad), bits(sealed)]);
        apply_counter(self.block, self.input, self.first, &mut tag)?;
        Ok(tag)
    }
}

/// XORs the key stream that starts at `counter` into `text`.
fn apply_counter(
    block: &'static Algorithm,
    input: &CipherInput<'_>,
    counter: u128,
    text: &mut [u8],
) -> Result<(), NativeError> {
    let key = UnboundCipherKey::new(block, input.key);
    let key = key.map_err(|_unspecified| invalid_key_length())?;
    let iv = FixedLength::from(counter.to_be_bytes());
    EncryptingKey::ctr(key)
        .and_then(|key| key.less_safe_encrypt(text, EncryptionContext::Iv128(iv)))
        .map(drop)
        .map_err(|_unspecified| cipher_error(input.direction))
}

/// GHASH over inputs, each padded to full blocks, and a final block of two lengths.
fn hashed<const COUNT: usize>(
    hash: &GHash,
    inputs: [&[u8]; COUNT],
    lengths: [u64; 2],
) -> [u8; BLOCK] {
    let mut hash = hash.clone();
    for input in inputs {
        hash.update_padded(input);
    }
    hash.update_padded(lengths.map(u64::to_be_bytes).as_flattened());
    hash.finalize().into()
}

fn bits(text: &[u8]) -> u64 {
    (text.len() as u64).saturating_mul(8)
}
