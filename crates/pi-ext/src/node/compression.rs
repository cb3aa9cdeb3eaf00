//! Compression: native half of `zlib`.

use std::io::{self, Read as _, Write as _};

use flate2::Compression;
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
        "brotliCompress" => {
            let mut output = Vec::new();
            let parameters = brotli::enc::BrotliEncoderParams::default();
            brotli::BrotliCompress(&mut &*bytes, &mut output, &parameters).map(|_| output)
        }
        "inflateRaw" => decompress(flate2::read::DeflateDecoder::new(bytes)),
        operation
            if operation == "gunzip" || (operation == "unzip" && bytes.starts_with(&GZIP)) =>
        {
            decompress(flate2::read::MultiGzDecoder::new(bytes))
        }
        "inflate" | "unzip" => decompress(flate2::read::ZlibDecoder::new(bytes)),
        "brotliDecompress" => decompress(brotli::Decompressor::new(bytes, 4096)),
        _ => return Err(request.unknown("zlib")),
    };
    outcome.map(NativeReply::Bytes).map_err(|error| {
        NativeError::new(format!("{}: {error}", request.operation)).with_code("Z_DATA_ERROR")
    })
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
