//! The scrypt key derivation function (RFC 7914).

use std::num::NonZeroU32;

use aws_lc_rs::pbkdf2;

use super::NativeError;

/// Cost parameters and memory limit.
#[derive(Debug, Clone, Copy)]
pub(super) struct ScryptParams {
    /// N, a power of two.
    pub(super) rounds: usize,
    pub(super) block_size: usize,
    pub(super) parallelization: usize,
    /// Maximum memory in bytes.
    pub(super) memory: usize,
}

/// Derives a key of `length` bytes.
pub(super) fn derive(
    password: &[u8],
    salt: &[u8],
    cost: ScryptParams,
    length: usize,
) -> Result<Vec<u8>, NativeError> {
    let ScryptParams {
        rounds,
        block_size,
        parallelization,
        memory,
    } = cost;
    let invalid = || {
        NativeError::new(
            "Invalid scrypt params: cost is not a power of two, or memory limit exceeded",
        )
        .with_code("ERR_CRYPTO_INVALID_SCRYPT_PARAMS")
    };
    let block = block_size.checked_mul(128).ok_or_else(invalid)?;
    let needed = rounds.checked_mul(block).ok_or_else(invalid)?;
    let all = parallelization.checked_mul(block).ok_or_else(invalid)?;
    if !rounds.is_power_of_two() || rounds < 2 || block == 0 || all == 0 {
        return Err(invalid());
    }
    if needed.saturating_add(all) > memory {
        return Err(invalid());
    }
    let mut blocks = vec![0; all];
    stretch(password, salt, &mut blocks);
    for block in blocks.chunks_exact_mut(block) {
        mix(block, rounds);
    }
    let mut key = vec![0; length];
    stretch(password, &blocks, &mut key);
    Ok(key)
}

fn stretch(password: &[u8], salt: &[u8], target: &mut [u8]) {
    if !target.is_empty() {
        let algorithm = pbkdf2::PBKDF2_HMAC_SHA256;
        pbkdf2::derive(algorithm, NonZeroU32::MIN, salt, password, target);
    }
}

type SalsaLane = [u32; 16];

/// `scryptROMix` on a block of 2r lanes.
fn mix(block: &mut [u8], rounds: usize) {
    let mut state: Vec<SalsaLane> = block.chunks_exact(64).map(read).collect();
    let mut scratch = state.clone();
    let mut history: Vec<SalsaLane> = Vec::with_capacity(rounds.saturating_mul(state.len()));
    for _ in 0..rounds {
        history.extend_from_slice(&state);
        mix_lanes(&mut state, &mut scratch);
    }
    for _ in 0..rounds {
        let last = state.last().copied().unwrap_or_default();
        let index = (last[0] as usize) & (rounds - 1);
        let past = history.iter().skip(index * state.len());
        for (lane, past) in state.iter_mut().zip(past) {
            add(lane, past);
        }
        mix_lanes(&mut state, &mut scratch);
    }
    for (target, lane) in block.chunks_exact_mut(64).zip(&state) {
        for (bytes, word) in target.chunks_exact_mut(4).zip(lane) {
            bytes.copy_from_slice(&word.to_le_bytes());
        }
    }
}

fn read(bytes: &[u8]) -> SalsaLane {
    let mut lane = SalsaLane::default();
    for (word, bytes) in lane.iter_mut().zip(bytes.chunks_exact(4)) {
        *word = u32::from_le_bytes(bytes.try_into().unwrap_or_default());
    }
    lane
}

fn add(lane: &mut SalsaLane, other: &SalsaLane) {
    for (word, other) in lane.iter_mut().zip(other) {
        *word ^= other;
    }
}

/// `scryptBlockMix`: in the result, even lanes precede odd ones.
fn mix_lanes(state: &mut Vec<SalsaLane>, scratch: &mut Vec<SalsaLane>) {
    let mut running = state.last().copied().unwrap_or_default();
    let half = state.len() / 2;
    for (index, lane) in state.iter().enumerate() {
        add(&mut running, lane);
        salsa(&mut running);
        let position = index / 2 + if index % 2 == 0 { 0 } else { half };
        if let Some(target) = scratch.get_mut(position) {
            *target = running;
        }
    }
    std::mem::swap(state, scratch);
}

/// The Salsa20/8 core.
fn salsa(lane: &mut SalsaLane) {
    const COLUMNS_AND_ROWS: [[usize; 4]; 8] = [
        [0, 4, 8, 12],
        [5, 9, 13, 1],
        [10, 14, 2, 6],
        [15, 3, 7, 11],
        [0, 1, 2, 3],
        [5, 6, 7, 4],
        [10, 11, 8, 9],
        [15, 12, 13, 14],
    ];
    let before = *lane;
    for _ in 0..4 {
        for [a, b, c, d] in COLUMNS_AND_ROWS {
            lane[b] ^= lane[a].wrapping_add(lane[d]).rotate_left(7);
            lane[c] ^= lane[b].wrapping_add(lane[a]).rotate_left(9);
            lane[d] ^= lane[c].wrapping_add(lane[b]).rotate_left(13);
            lane[a] ^= lane[d].wrapping_add(lane[c]).rotate_left(18);
        }
    }
    for (word, before) in lane.iter_mut().zip(before) {
        *word = word.wrapping_add(before);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cost(rounds: usize, block_size: usize, parallelization: usize) -> ScryptParams {
        ScryptParams {
            rounds,
            block_size,
            parallelization,
            memory: 32 * 1024 * 1024,
        }
    }

    #[test]
    fn keys_match_the_published_vectors() {
        let key = derive(b"", b"", cost(16, 1, 1), 64).unwrap();
        assert_eq!(key[..8], [0x77, 0xd6, 0x57, 0x62, 0x38, 0x65, 0x7b, 0x20]);
        let key = derive(b"password", b"NaCl", cost(1024, 8, 16), 64).unwrap();
        assert_eq!(key[..8], [0xfd, 0xba, 0xbe, 0x1c, 0x9d, 0x34, 0x72, 0x00]);
    }

    #[test]
    fn a_cost_beyond_the_memory_limit_is_rejected() {
        assert!(derive(b"", b"", cost(1 << 20, 8, 1), 64).is_err());
        assert!(derive(b"", b"", cost(usize::MAX, 8, 1), 64).is_err());
        assert!(derive(b"", b"", cost(15, 8, 1), 64).is_err());
        assert!(derive(b"", b"", cost(16, 0, 1), 64).is_err());
    }
}
