//! Random numbers for file names and delays.

use std::io;
use std::time::Duration;

pub(crate) fn random_u64() -> io::Result<u64> {
    Ok(getrandom::u64()?)
}

/// Returns a random part of a duration.
pub(crate) fn random_part(whole: Duration) -> io::Result<Duration> {
    let percent = u32::try_from(random_u64()? % 100).unwrap_or_default();
    Ok(whole * percent / 100)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_never_longer_than_the_whole() {
        let whole = Duration::from_millis(20);
        for _ in 0..100 {
            assert!(random_part(whole).unwrap() < whole);
        }
    }
}
