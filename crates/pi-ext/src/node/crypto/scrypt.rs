//! The scrypt key derivation function with Node's memory limit.

use scrypt::Params;

use super::NativeError;

/// Cost parameters and memory limit.
#[derive(Debug, Clone, Copy)]
pub(super) struct ScryptCost {
    /// N, a power of two.
    pub(super) rounds: usize,
    pub(super) block_size: usize,
    pub(super) parallelization: usize,
    /// Maximum memory in bytes.
    pub(super) memory: usize,
}

impl ScryptCost {
    /// Returns the parameters of a derivation that respects the memory limit.
    fn params(self) -> Option<Params> {
        let block = self.block_size.checked_mul(128)?;
        let history = self.rounds.checked_mul(block)?;
        let blocks = self.parallelization.checked_mul(block)?;
        if history.checked_add(blocks)? > self.memory
            || self.rounds < 2
            || !self.rounds.is_power_of_two()
        {
            return None;
        }
        Params::new(
            u8::try_from(self.rounds.ilog2()).ok()?,
            self.block_size.try_into().ok()?,
            self.parallelization.try_into().ok()?,
        )
        .ok()
    }
}

/// Derives a key of `length` bytes.
pub(super) fn derive(
    password: &[u8],
    salt: &[u8],
    cost: ScryptCost,
    length: usize,
) -> Result<Vec<u8>, NativeError> {
    let params = cost.params().ok_or_else(|| {
        NativeError::new(
            "Invalid scrypt params: cost is not a power of two, or memory limit exceeded",
        )
        .with_code("ERR_CRYPTO_INVALID_SCRYPT_PARAMS")
    })?;
    let mut key = vec![0; length];
    // Node returns an empty key, which the crate rejects.
    if !key.is_empty() {
        scrypt::scrypt(password, salt, &params, &mut key)
            .map_err(|error| NativeError::new(error.to_string()))?;
    }
    Ok(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cost(rounds: usize, block_size: usize, parallelization: usize) -> ScryptCost {
        ScryptCost {
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
        assert!(derive(b"", b"", cost(16, 1, 0), 64).is_err());
        assert!(derive(b"", b"", cost(16, usize::MAX, 1), 64).is_err());
    }

    #[test]
    fn a_key_may_be_empty() {
        assert_eq!(derive(b"", b"", cost(16, 1, 1), 0).unwrap(), b"");
    }
}
