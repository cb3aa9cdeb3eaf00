//! Pictures in responses: base64 in one of four formats. The bytes decide about the type, whatever the response states.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use pi_protocol::ProviderError;

use super::ImageInput;

/// Reads a data URL; `None` if it is empty or not base64.
pub(super) fn from_data_url(url: &str) -> Result<Option<ImageInput>, ProviderError> {
    let Some((mime_type, data)) = url
        .strip_prefix("data:")
        .and_then(|rest| rest.split_once(";base64,"))
    else {
        return Ok(None);
    };
    if mime_type.is_empty() || data.is_empty() {
        return Ok(None);
    }
    from_base64(data).map(Some)
}

pub(super) fn from_base64(data: &str) -> Result<ImageInput, ProviderError> {
    // Servers may break lines.
    let data: String = data.split_ascii_whitespace().collect();
    let bytes = BASE64_STANDARD.decode(&data).map_err(|error| {
        ProviderError::protocol(format!("an image is not valid base64: {error}"))
    })?;
    Ok(ImageInput::Image {
        mime_type: mime_type(&bytes)?.to_owned(),
        data,
    })
}

pub(super) fn from_bytes(bytes: &[u8]) -> Result<ImageInput, ProviderError> {
    Ok(ImageInput::Image {
        mime_type: mime_type(bytes)?.to_owned(),
        data: BASE64_STANDARD.encode(bytes),
    })
}

fn mime_type(bytes: &[u8]) -> Result<&'static str, ProviderError> {
    const SIGNATURES: [(&[u8], &str); 4] = [
        (b"\x89PNG\r\n\x1a\n", "image/png"),
        (b"\xff\xd8\xff", "image/jpeg"),
        (b"GIF87a", "image/gif"),
        (b"GIF89a", "image/gif"),
    ];
    let mut known = SIGNATURES.iter();
    if let Some((_, mime_type)) = known.find(|(signature, _)| bytes.starts_with(signature)) {
        return Ok(mime_type);
    }
    if bytes.starts_with(b"RIFF") && bytes.get(8..12) == Some(b"WEBP") {
        return Ok("image/webp");
    }
    Err(ProviderError::protocol(
        "the response contains an image that is not PNG, JPEG, WebP or GIF",
    ))
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn the_bytes_decide_about_the_type() {
        let jpeg = BASE64_STANDARD.encode(b"\xff\xd8\xff\xe0rest");
        let read = from_data_url(&format!("data:image/png;base64,{jpeg}")).unwrap();
        let expected = ImageInput::Image {
            mime_type: "image/jpeg".to_owned(),
            data: jpeg,
        };
        assert_eq!(read, Some(expected));
        for (bytes, mime_type) in [
            (&b"\x89PNG\r\n\x1a\n"[..], "image/png"),
            (b"RIFF\0\0\0\0WEBPVP8 ", "image/webp"),
            (b"GIF89a", "image/gif"),
        ] {
            let ImageInput::Image {
                mime_type: found, ..
            } = from_bytes(bytes).unwrap()
            else {
                panic!("not an image");
            };
            assert_eq!(found, mime_type);
        }
    }

    #[test]
    fn what_is_no_picture_is_refused() {
        for bytes in [
            &b""[..],
            b"<svg/>",
            b"RIFF\0\0\0\0WAVE",
            b"%PDF-1.7",
            b"\x89PNG",
        ] {
            assert!(from_bytes(bytes).is_err(), "{bytes:?}");
        }
        assert!(from_data_url("data:image/png;base64,@@@@").is_err());
        for url in [
            "data:image/png;base64,",
            "data:;base64,AAAA",
            "data:image/png,AAAA",
            "https://example.com/a.png",
        ] {
            assert_eq!(from_data_url(url), Ok(None), "{url}");
        }
    }
}
