//! AES-GCM with initialization vectors of any length, built from counter mode and GHASH as in
//! NIST SP 800-38D.
//!
//! aws-lc-rs supports only 12-byte vectors; it still performs the encryption. Nothing here branches
//! on or indexes by secret data.

use aws_lc_rs::cipher::{Algorithm, EncryptingKey, EncryptionContext, UnboundCipherKey};
use aws_lc_rs::constant_time::verify_slices_are_equal;
use aws_lc_rs::iv::FixedLength;

use super::{
    CipherDirection, CipherInput, NativeError, TAG_LENGTH, cipher_error, invalid_key_length,
};

/// Reduction polynomial of GHASH: x^128 + x^7 + x^2 + x + 1, most significant bit first.
const POLYNOMIAL: u128 = 0xe1 << 120;

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
    let key = GcmKey { block, input };
    let mut hash_key = [0; BLOCK];
    key.apply_counter(0, &mut hash_key)?;
    let hash_key = u128::from_be_bytes(hash_key);
    let first = hash(hash_key, &[], input.iv, LengthBlock::SecondOnly);
    match input.direction {
        CipherDirection::Encrypt => {
            let mut text = input.message.to_vec();
            key.apply_from(first, &mut text)?;
            let tag = key.tag(hash_key, first, &text)?;
            text.extend_from_slice(&tag);
            Ok(text)
        }
        CipherDirection::Decrypt => {
            let split = input.message.len().checked_sub(TAG_LENGTH);
            let parts = split.and_then(|at| input.message.split_at_checked(at));
            let (sealed, tag) = parts.ok_or_else(|| cipher_error(input.direction))?;
            let expected = key.tag(hash_key, first, sealed)?;
            verify_slices_are_equal(&expected, tag)
                .map_err(|_different| cipher_error(input.direction))?;
            let mut text = sealed.to_vec();
            key.apply_from(first, &mut text)?;
            Ok(text)
        }
    }
}

struct GcmKey<'a> {
    block: &'static Algorithm,
    input: &'a CipherInput<'a>,
}

impl GcmKey<'_> {
    /// XORs the key stream that starts at `counter` into `text`.
    fn apply_counter(&self, counter: u128, text: &mut [u8]) -> Result<(), NativeError> {
        let key = UnboundCipherKey::new(self.block, self.input.key);
        let key = key.map_err(|_unspecified| invalid_key_length())?;
        let iv = FixedLength::from(counter.to_be_bytes());
        EncryptingKey::ctr(key)
            .and_then(|key| key.less_safe_encrypt(text, EncryptionContext::Iv128(iv)))
            .map(drop)
            .map_err(|_unspecified| cipher_error(self.input.direction))
    }

    /// XORs the key stream that starts after `first` into `text`. Only the low 32 bits of the
    /// counter are incremented.
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
        let hashed = hash(hash_key, self.input.aad, sealed, LengthBlock::Both);
        let mut tag = hashed.to_be_bytes();
        self.apply_counter(first, &mut tag)?;
        Ok(tag)
    }
}

/// Contents of the final length block.
#[derive(Clone, Copy)]
enum LengthBlock {
    Both,
    /// The first half of the block is zero.
    SecondOnly,
}

/// GHASH over two inputs, each padded to full blocks, and their lengths.
fn hash(key: u128, first: &[u8], second: &[u8], lengths: LengthBlock) -> u128 {
    let bits = |text: &[u8]| (text.len() as u128) * 8;
    let last = match lengths {
        LengthBlock::Both => (bits(first) << 64) | bits(second),
        LengthBlock::SecondOnly => bits(second),
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

/// Multiplies in GF(2^128), bit by bit and without branches.
fn multiply(left: u128, right: u128) -> u128 {
    let mut product = 0;
    let mut shifted = right;
    for bit in (0..128).rev() {
        product ^= shifted & ((left >> bit) & 1).wrapping_neg();
        shifted = (shifted >> 1) ^ (POLYNOMIAL & (shifted & 1).wrapping_neg());
    }
    product
}
