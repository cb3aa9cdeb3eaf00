//! MD5 (RFC 1321). Extensions use it for cache keys; it is not secure.

const SHIFTS: [[u32; 4]; 4] = [
    [7, 12, 17, 22],
    [5, 9, 14, 20],
    [4, 11, 16, 23],
    [6, 10, 15, 21],
];

pub(super) fn digest(bytes: &[u8]) -> [u8; 16] {
    let mut message = bytes.to_vec();
    message.push(0x80);
    message.resize(message.len().next_multiple_of(64), 0);
    if message.len() - bytes.len() < 9 {
        message.resize(message.len() + 64, 0);
    }
    let bits = (bytes.len() as u64).wrapping_mul(8).to_le_bytes();
    let end = message.len();
    message.truncate(end - 8);
    message.extend_from_slice(&bits);
    let mut state = [0x6745_2301_u32, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476];
    for block in message.as_chunks::<64>().0 {
        let words: Vec<u32> = block
            .as_chunks::<4>()
            .0
            .iter()
            .map(|word| u32::from_le_bytes(*word))
            .collect();
        let [mut a, mut b, mut c, mut d] = state;
        for step in 0..64_u32 {
            let round = step / 16;
            let (mix, index) = match round {
                0 => ((b & c) | (!b & d), step),
                1 => ((d & b) | (!d & c), 5 * step + 1),
                2 => (b ^ c ^ d, 3 * step + 5),
                _ => (c ^ (b | !d), 7 * step),
            };
            let word = words.get(index as usize % 16).copied().unwrap_or_default();
            let shift = SHIFTS
                .get(round as usize)
                .and_then(|shifts| shifts.get(step as usize % 4))
                .copied()
                .unwrap_or_default();
            let sum = a
                .wrapping_add(mix)
                .wrapping_add(constant(step))
                .wrapping_add(word);
            (a, d, c, b) = (d, c, b, b.wrapping_add(sum.rotate_left(shift)));
        }
        for (value, add) in state.iter_mut().zip([a, b, c, d]) {
            *value = value.wrapping_add(add);
        }
    }
    let mut digest = [0; 16];
    for (target, byte) in digest
        .iter_mut()
        .zip(state.iter().flat_map(|word| word.to_le_bytes()))
    {
        *target = byte;
    }
    digest
}

/// Returns an entry of the table T of RFC 1321, section 3.4, which is defined by the sine.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the value lies between 0 and 2^32"
)]
fn constant(step: u32) -> u32 {
    (f64::from(step + 1).sin().abs() * 4_294_967_296.0) as u32
}
