//! Ways to cut bytes, which a decoder must not notice.

/// Splits what a fuzzer made into a length of pieces and the bytes to be cut.
pub(crate) fn split_input(data: &[u8]) -> Option<(usize, &[u8])> {
    let (length, bytes) = data.split_first()?;
    Some((usize::from(*length).max(1), bytes))
}

/// Returns the bytes as one piece, in pieces of a length, and cut once after that length.
pub(crate) fn cuts(bytes: &[u8], length: usize) -> [Vec<&[u8]>; 3] {
    let (first, second) = bytes.split_at(length.min(bytes.len()));
    [
        vec![bytes],
        bytes.chunks(length).collect(),
        vec![first, second],
    ]
}
