//! Compression: the Rust half of `zlib`.

use std::io::{self, Read as _, Write as _};

use flate2::Compression;
use serde::Deserialize;

use super::{NativeError, Request};
use crate::engine::Reply;

/// Most bytes an archive may unfold to, whatever it claims.
const MOST_OUTPUT: u64 = 256 * 1024 * 1024;

/// How gzip data begins.
const GZIP: [u8; 2] = [0x1f, 0x8b];

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Arguments {
    level: Option<u32>,
}

/// Performs an operation.
pub(super) fn run(request: &Request) -> Result<Reply, NativeError> {
    let arguments: Arguments = request.read()?;
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
        "brotliCompress" => {
            let mut output = Vec::new();
            let parameters = brotli::enc::BrotliEncoderParams::default();
            brotli::BrotliCompress(&mut &*bytes, &mut output, &parameters).map(|_| output)
        }
        "inflateRaw" => unfold(flate2::read::DeflateDecoder::new(bytes)),
        operation
            if operation == "gunzip" || (operation == "unzip" && bytes.starts_with(&GZIP)) =>
        {
            unfold(flate2::read::MultiGzDecoder::new(bytes))
        }
        "inflate" | "unzip" => unfold(flate2::read::ZlibDecoder::new(bytes)),
        "brotliDecompress" => unfold(brotli::Decompressor::new(bytes, 4096)),
        _ => return Err(request.unknown("zlib")),
    };
    outcome.map(Reply::Bytes).map_err(|error| {
        NativeError::new(format!("{}: {error}", request.operation)).with_code("Z_DATA_ERROR")
    })
}

fn unfold(reader: impl io::Read) -> io::Result<Vec<u8>> {
    let mut output = Vec::new();
    reader.take(MOST_OUTPUT + 1).read_to_end(&mut output)?;
    if output.len() as u64 > MOST_OUTPUT {
        return Err(io::Error::other("the data unfolds to more than 256 MiB"));
    }
    Ok(output)
}
