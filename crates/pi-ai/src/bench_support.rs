//! What `benches/` needs of the inside. It is no part of the interface and may change at any time.

use crate::error::ProviderError;
use crate::transport::sse::SseParser;

/// Parses a body of server-sent events in pieces of the given size and returns how many events and
/// bytes of data it holds.
pub fn parse_events(body: &[u8], piece_size: usize) -> Result<(usize, usize), ProviderError> {
    let mut parser = SseParser::new();
    let (mut events, mut bytes) = (0, 0);
    for piece in body.chunks(piece_size) {
        parser.push(piece, |event| {
            events += 1;
            bytes += event.data.len();
            Ok(())
        })?;
    }
    Ok((events, bytes))
}
