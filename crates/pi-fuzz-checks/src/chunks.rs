//! Ways to split bytes into chunks, which must not affect a decoder.

/// Splits fuzzer input into a chunk length and the data.
pub(crate) fn split_input(data: &[u8]) -> Option<(usize, &[u8])> {
    let (length, bytes) = data.split_first()?;
    Some((usize::from(*length).max(1), bytes))
}

/// Returns the bytes as a single chunk, in chunks of a length, and split once after that length.
pub(crate) fn chunkings(bytes: &[u8], length: usize) -> [Vec<&[u8]>; 3] {
    let (first, second) = bytes.split_at(length.min(bytes.len()));
    [
        vec![bytes],
        bytes.chunks(length).collect(),
        vec![first, second],
    ]
}
