//! Tool-call IDs that we make ourselves. Deterministic, so a replayed prefix stays identical and
//! prompt caches hit.

/// Length of an ID that every API accepts.
const COMPACT_LENGTH: usize = 9;

/// Converts an ID to nine letters and digits, which every API accepts.
pub fn compact_id(id: &str) -> String {
    let letters: String = id.chars().filter(char::is_ascii_alphanumeric).collect();
    if letters.len() == COMPACT_LENGTH {
        return letters;
    }
    let seed = if letters.is_empty() { id } else { &letters };
    let mut hash = short_hash(seed);
    hash.truncate(COMPACT_LENGTH);
    format!("{hash:0<COMPACT_LENGTH$}")
}

/// Returns a new ID for a call that reuses the ID of another call: nine letters and digits, which every API
/// accepts. Each attempt gives a different ID.
pub fn replacement_id(id: &str, attempt: usize) -> String {
    compact_id(&format!("{attempt}_{id}"))
}

/// Hashes a text to a short string of digits and lower-case letters, the same on every machine.
pub fn short_hash(text: &str) -> String {
    let (mut low, mut high) = (0xdead_beef_u32, 0x41c6_ce57_u32);
    for unit in text.encode_utf16().map(u32::from) {
        low = (low ^ unit).wrapping_mul(2_654_435_761);
        high = (high ^ unit).wrapping_mul(1_597_334_677);
    }
    let mix = |own: u32, other: u32| {
        (own ^ (own >> 16)).wrapping_mul(2_246_822_507)
            ^ (other ^ (other >> 13)).wrapping_mul(3_266_489_909)
    };
    low = mix(low, high);
    high = mix(high, low);
    let mut hash = base36(high);
    hash.push_str(&base36(low));
    hash
}

fn base36(mut number: u32) -> String {
    let mut digits = Vec::new();
    loop {
        digits.extend(char::from_digit(number % 36, 36));
        number /= 36;
        if number == 0 {
            return digits.iter().rev().collect();
        }
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn compact_ids_are_nine_letters_and_digits() {
        assert_eq!(compact_id("abc-DEF_123"), "abcDEF123");
        for id in [
            "",
            "x",
            "toolu_01AbCdEfGh",
            "...",
            "call_Zk3v9XyQ2LrTnB7cWmHd8sPa|fc_0a1b",
        ] {
            let short = compact_id(id);
            assert_eq!(short.len(), 9, "{id} became {short}");
            assert!(
                short.chars().all(|char| char.is_ascii_alphanumeric()),
                "{short}"
            );
        }
        assert_ne!(compact_id("toolu_1"), compact_id("toolu_2"));
    }

    #[test]
    fn the_hash_is_stable() {
        assert_eq!(short_hash(""), "k4n83c7h0j2b");
        assert_eq!(short_hash("fc_b"), "1t0wqcb14koeyp");
        assert_eq!(short_hash("é😀"), "102l7zrk951la");
    }
}
