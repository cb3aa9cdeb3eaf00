//! AES-GCM with initialization vectors of any length, as NIST SP 800-38D builds it of counter mode and GHASH.
//!
//! The library offers vectors of 12 bytes alone; it still does the encryption. Nothing here branches on, or looks
//! anything up by, what is secret.

use aws_lc_rs::cipher::{Algorithm, EncryptingKey, EncryptionContext, UnboundCipherKey};
use aws_lc_rs::constant_time::verify_slices_are_equal;
use aws_lc_rs::iv::FixedLength;

use super::{Direction, Job, NativeError, TAG_LENGTH, refused, wrong_key};

/// What GHASH reduces by: x^128 + x^7 + x^2 + x + 1, with the first bit first.
const POLYNOMIAL: u128 = 0xe1 << 120;

const BLOCK: usize = 16;

/// Node takes none that is longer.
const LONGEST_VECTOR: usize = 128;

/// Encrypts or decrypts with a vector that is not 12 bytes long.
pub(super) fn run(block: &'static Algorithm, job: &Job<'_>) -> Result<Vec<u8>, NativeError> {
    if job.vector.is_empty() || job.vector.len() > LONGEST_VECTOR {
        return Err(
            NativeError::new("Invalid initialization vector").with_code("ERR_CRYPTO_INVALID_IV")
        );
    }
    let key = Key { block, job };
    let mut hash_key = [0; BLOCK];
    key.apply_counter(0, &mut hash_key)?;
    let hash_key = u128::from_be_bytes(hash_key);
    let first = hash(hash_key, &[], job.vector, Lengths::SecondAlone);
    match job.direction {
        Direction::Encrypt => {
            let mut text = job.message.to_vec();
            key.apply_from(first, &mut text)?;
            let tag = key.tag(hash_key, first, &text)?;
            text.extend_from_slice(&tag);
            Ok(text)
        }
        Direction::Decrypt => {
            let split = job.message.len().checked_sub(TAG_LENGTH);
            let parts = split.and_then(|at| job.message.split_at_checked(at));
            let (sealed, tag) = parts.ok_or_else(|| refused(job.direction))?;
            let expected = key.tag(hash_key, first, sealed)?;
            verify_slices_are_equal(&expected, tag).map_err(|_different| refused(job.direction))?;
            let mut text = sealed.to_vec();
            key.apply_from(first, &mut text)?;
            Ok(text)
        }
    }
}

struct Key<'job> {
    block: &'static Algorithm,
    job: &'job Job<'job>,
}

impl Key<'_> {
    /// Adds the key stream that begins with a counter to a text.
    fn apply_counter(&self, counter: u128, text: &mut [u8]) -> Result<(), NativeError> {
        let key = UnboundCipherKey::new(self.block, self.job.key);
        let key = key.map_err(|_unspecified| wrong_key())?;
        let vector = FixedLength::from(counter.to_be_bytes());
        EncryptingKey::ctr(key)
            .and_then(|key| key.less_safe_encrypt(text, EncryptionContext::Iv128(vector)))
            .map(drop)
            .map_err(|_unspecified| refused(self.job.direction))
    }

    /// Adds the key stream that follows the first counter to a text. Of a counter only the last 32 bits count on.
    fn apply_from(&self, first: u128, text: &mut [u8]) -> Result<(), NativeError> {
        let fixed = first & !u128::from(u32::MAX);
        let low = u32::try_from(first & u128::from(u32::MAX)).unwrap_or_default();
        let next = low.wrapping_add(1);
        let blocks_left = (u32::MAX - next) as usize;
        let before = blocks_left
            .saturating_add(1)
            .saturating_mul(BLOCK)
            .min(text.len());
        if let Some((head, tail)) = text.split_at_mut_checked(before) {
            self.apply_counter(fixed | u128::from(next), head)?;
            if !tail.is_empty() {
                self.apply_counter(fixed, tail)?;
            }
        }
        Ok(())
    }

    fn tag(
        &self,
        hash_key: u128,
        first: u128,
        sealed: &[u8],
    ) -> Result<[u8; TAG_LENGTH], NativeError> {
        let hashed = hash(hash_key, self.job.additional, sealed, Lengths::Both);
        let mut tag = hashed.to_be_bytes();
        self.apply_counter(first, &mut tag)?;
        Ok(tag)
    }
}

/// Which lengths end what is hashed.
#[derive(Clone, Copy)]
enum Lengths {
    Both,
    /// The first half of the last block is empty.
    SecondAlone,
}

/// GHASH over two texts, each filled up to whole blocks, and their lengths.
fn hash(key: u128, first: &[u8], second: &[u8], lengths: Lengths) -> u128 {
    let bits = |text: &[u8]| (text.len() as u128) * 8;
    let last = match lengths {
        Lengths::Both => (bits(first) << 64) | bits(second),
        Lengths::SecondAlone => bits(second),
    };
    let blocks = first.chunks(BLOCK).chain(second.chunks(BLOCK));
    let blocks = blocks.map(|chunk| {
        let mut block = [0; BLOCK];
        block
            .iter_mut()
            .zip(chunk)
            .for_each(|(to, from)| *to = *from);
        u128::from_be_bytes(block)
    });
    blocks
        .chain([last])
        .fold(0, |state, block| multiply(state ^ block, key))
}

/// Multiplies in the field, bit by bit and without a branch.
fn multiply(left: u128, right: u128) -> u128 {
    let mut product = 0;
    let mut shifted = right;
    for bit in (0..128).rev() {
        product ^= shifted & ((left >> bit) & 1).wrapping_neg();
        shifted = (shifted >> 1) ^ (POLYNOMIAL & (shifted & 1).wrapping_neg());
    }
    product
}
