//! Compression: native half of `zlib`.

use std::io::{self, Read as _, Write as _};

use flate2::Compression;
use ruzstd::decoding::StreamingDecoder;
use ruzstd::encoding::{CompressionLevel, compress_to_vec};
use serde::Deserialize;

use super::{NativeError, NativeRequest};
use crate::engine::NativeReply;

/// Maximum size of decompressed data, in bytes.
const MAX_OUTPUT: u64 = 256 * 1024 * 1024;

/// Magic number of gzip data.
const GZIP: [u8; 2] = [0x1f, 0x8b];

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ZlibArguments {
    level: Option<u32>,
}

pub(super) fn run(request: &NativeRequest) -> Result<NativeReply, NativeError> {
    let arguments: ZlibArguments = request.read()?;
    let level = Compression::new(arguments.level.unwrap_or(6).min(9));
    let bytes = request.bytes.as_deref().unwrap_or_default();
    let outcome = match request.operation.as_str() {
        "gzip" => {
            let mut writer = flate2::write::GzEncoder::new(Vec::new(), level);
            writer.write_all(bytes).and_then(|()| writer.finish())
        }
        "deflate" => {
            let mut writer = flate2::write::ZlibEncoder::new(Vec::new(), level);
            writer.write_all(bytes).and_then(|()| writer.finish())
        }
        "deflateRaw" => {
            let mut writer = flate2::write::DeflateEncoder::new(Vec::new(), level);
            writer.write_all(bytes).and_then(|()| writer.finish())
        }
        "brotliCompress" => Ok(store_as_brotli(bytes)),
        "inflateRaw" => decompress(flate2::read::DeflateDecoder::new(bytes)),
        operation
            if operation == "gunzip" || (operation == "unzip" && bytes.starts_with(&GZIP)) =>
        {
            decompress(flate2::read::MultiGzDecoder::new(bytes))
        }
        "inflate" | "unzip" => decompress(flate2::read::ZlibDecoder::new(bytes)),
        "zstdCompress" => Ok(compress_to_vec(bytes, CompressionLevel::Fastest)),
        "zstdDecompress" => StreamingDecoder::new(bytes)
            .map_err(io::Error::other)
            .and_then(decompress),
        "brotliDecompress" => decompress(brotli_decompressor::Decompressor::new(bytes, 4096)),
        _ => return Err(request.unknown("zlib")),
    };
    outcome.map(NativeReply::Bytes).map_err(|error| {
        NativeError::new(format!("{}: {error}", request.operation)).with_code("Z_DATA_ERROR")
    })
}

/// Returns a Brotli stream (RFC 7932) with the bytes as they are. An encoder would add 0.8 MB to the program, most of it
/// tables, for a format that extensions hardly write.
fn store_as_brotli(bytes: &[u8]) -> Vec<u8> {
    // A window of 64 KiB is a single zero bit, followed by the last, empty block: two bits that are set.
    if bytes.is_empty() {
        return vec![0b110];
    }
    let mut output = Vec::with_capacity(bytes.len() + 16);
    for (number, block) in bytes.chunks(1 << 16).enumerate() {
        // Not the last block (one bit), a length of four nibbles (two bits), the length minus one, and the bit of a
        // block that is not compressed. The rest of the third byte stays empty.
        let header = ((block.len() - 1) << 3) | (1 << 19);
        let header = if number == 0 { header << 1 } else { header };
        output.extend(header.to_le_bytes().into_iter().take(3));
        output.extend_from_slice(block);
    }
    output.push(0b11);
    output
}

fn decompress(reader: impl io::Read) -> io::Result<Vec<u8>> {
    let mut output = Vec::new();
    reader.take(MAX_OUTPUT + 1).read_to_end(&mut output)?;
    if output.len() as u64 > MAX_OUTPUT {
        return Err(io::Error::other(
            "the decompressed data is larger than 256 MiB",
        ));
    }
    Ok(output)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stored_brotli_is_read_back() {
        for length in [0, 1, 65_535, 65_536, 65_537, 200_000] {
            let bytes: Vec<u8> = (0..=250).cycle().take(length).collect();
            let stored = store_as_brotli(&bytes);
            let read = decompress(brotli_decompressor::Decompressor::new(&*stored, 4096));
            assert_eq!(read.unwrap(), bytes, "{length}");
        }
    }
}
