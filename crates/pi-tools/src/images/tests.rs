use image::{Rgb, Rgba};
use pretty_assertions::assert_eq;

use super::*;

fn noise(width: u32, height: u32) -> RgbImage {
    let mut state = 1_u32;
    RgbImage::from_fn(width, height, |_, _| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let [red, green, blue, _] = state.to_be_bytes();
        Rgb([red, green, blue])
    })
}

fn encoded(image: impl Into<DynamicImage>, format: ImageFormat) -> Vec<u8> {
    let mut bytes = Cursor::new(Vec::new());
    image.into().write_to(&mut bytes, format).unwrap();
    bytes.into_inner()
}

fn limits(max_width: u32, max_height: u32, max_bytes: u64) -> ImageResizeLimits {
    ImageResizeLimits {
        max_width,
        max_height,
        max_bytes,
        ..ImageResizeLimits::default()
    }
}

fn prepare(
    bytes: &[u8],
    media_type: &str,
    limits: impl Into<Option<ImageResizeLimits>>,
) -> Result<PreparedImage, ImageError> {
    prepare_image(bytes, media_type, limits.into(), &CancellationToken::new())
}

fn decoded(prepared: &PreparedImage) -> DynamicImage {
    image::load_from_memory(&STANDARD.decode(&prepared.data).unwrap()).unwrap()
}

#[test]
fn an_image_within_the_limits_keeps_its_bytes() {
    for (format, media_type) in [
        (ImageFormat::Png, "image/png"),
        (ImageFormat::Jpeg, "image/jpeg"),
        (ImageFormat::Gif, "image/gif"),
        (ImageFormat::WebP, "image/webp"),
    ] {
        let bytes = encoded(noise(8, 6), format);
        assert_eq!(sniff_image(&bytes), Some(media_type));
        for limits in [None, Some(limits(8, 6, 100_000))] {
            let prepared = prepare(&bytes, media_type, limits).unwrap();
            assert_eq!(prepared.data, STANDARD.encode(&bytes));
            assert_eq!((prepared.media_type, prepared.notes), (media_type, vec![]));
        }
    }
    let jpeg = encoded(noise(8, 6), ImageFormat::Jpeg);
    assert_eq!(
        prepare(&jpeg, "IMAGE/JPG; q=1", None).unwrap().media_type,
        "image/jpeg"
    );
}

#[test]
fn other_formats_are_converted_to_png() {
    let bytes = encoded(noise(8, 6), ImageFormat::Bmp);
    assert_eq!(sniff_image(&bytes), Some("image/bmp"));
    for limits in [None, Some(limits(8, 6, 100_000))] {
        let prepared = prepare(&bytes, "image/bmp", limits).unwrap();
        assert_eq!(prepared.media_type, "image/png");
        assert_eq!(
            prepared.notes,
            ["[Image converted from image/bmp to image/png]"]
        );
        assert_eq!(decoded(&prepared).to_rgb8(), noise(8, 6));
    }
    let small = prepare(&bytes, "image/bmp", limits(4, 6, 100_000)).unwrap();
    assert_eq!(small.notes.len(), 2);
}

#[test]
fn large_images_keep_their_aspect_ratio() {
    let bytes = encoded(noise(60, 30), ImageFormat::Png);
    for (max_width, max_height, expected, factor) in [
        (30, 100, (30, 15), "2.00"),
        (100, 10, (20, 10), "3.00"),
        (40, 10, (20, 10), "3.00"),
        (7, 100, (7, 4), "8.57"),
    ] {
        let prepared =
            prepare(&bytes, "image/png", limits(max_width, max_height, 100_000)).unwrap();
        let image = decoded(&prepared);
        assert_eq!((image.width(), image.height()), expected);
        assert!(
            prepared.notes[0].contains(&format!("by {factor} ")),
            "{:?}",
            prepared.notes
        );
    }
    assert_eq!(
        scaled_dimensions(10_000, 1, ImageResizeLimits::default()),
        (2000, 1)
    );
}

#[test]
fn quality_is_reduced_before_size() {
    let bytes = encoded(noise(64, 64), ImageFormat::Png);
    let png_length = base64_length(&bytes);
    let coarser = prepare(&bytes, "image/png", limits(64, 64, png_length / 2)).unwrap();
    assert_eq!(coarser.media_type, "image/jpeg");
    assert_eq!(decoded(&coarser).width(), 64);
    assert!((coarser.data.len() as u64) < png_length / 2);

    let smaller = prepare(&bytes, "image/png", limits(64, 64, 1200)).unwrap();
    assert!(decoded(&smaller).width() < 64);
    assert!(smaller.data.len() < 1200);

    assert_eq!(
        prepare(&bytes, "image/png", limits(64, 64, 10)),
        Err(ImageError::TooLarge)
    );
}

#[test]
fn transparency_survives_png_and_is_white_in_jpeg() {
    let clear = RgbaImage::from_pixel(40, 40, Rgba([0, 0, 0, 0]));
    let bytes = encoded(clear.clone(), ImageFormat::Png);
    let small = prepare(&bytes, "image/png", limits(20, 20, 100_000)).unwrap();
    assert_eq!(decoded(&small).to_rgba8().get_pixel(5, 5).0[3], 0);
    assert_eq!(
        flatten_onto_white(&clear.into()).get_pixel(5, 5).0,
        [255, 255, 255]
    );
}

#[test]
fn exif_orientation_is_applied() {
    let jpeg = encoded(noise(8, 4), ImageFormat::Jpeg);
    // An Exif segment with a single entry: rotate by 90 degrees clockwise.
    let mut exif = b"\xff\xe1\x00\x22Exif\0\0MM\0\x2a\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x06\0\0\0\0\0\0".to_vec();
    let mut rotated = jpeg[..2].to_vec();
    rotated.append(&mut exif);
    rotated.extend_from_slice(&jpeg[2..]);
    let prepared = prepare(&rotated, "image/jpeg", limits(2, 4, 100_000)).unwrap();
    let image = decoded(&prepared);
    assert_eq!((image.width(), image.height()), (2, 4));
    assert!(
        prepared.notes[0].starts_with("[Image resized from 4x8 to"),
        "{:?}",
        prepared.notes
    );
}

#[test]
fn invalid_images_are_rejected() {
    assert_eq!(
        prepare(b"junk", "image/png", limits(8, 8, 100)),
        Err(ImageError::Unreadable)
    );
    assert_eq!(
        prepare(b"junk", "image/tiff", None),
        Err(ImageError::Unreadable)
    );
    let cancel = CancellationToken::new();
    cancel.cancel();
    let bytes = encoded(noise(64, 64), ImageFormat::Png);
    assert_eq!(
        prepare_image(&bytes, "image/png", Some(limits(8, 8, 100)), &cancel),
        Err(ImageError::Canceled)
    );
}

#[test]
fn excessive_dimensions_are_rejected() {
    let mut bmp = encoded(noise(1, 1), ImageFormat::Bmp);
    bmp[18..22].copy_from_slice(&20_000_u32.to_le_bytes());
    bmp[22..26].copy_from_slice(&20_000_u32.to_le_bytes());
    let gif = [
        &b"GIF89a"[..],
        &20_000_u16.to_le_bytes(),
        &20_000_u16.to_le_bytes(),
        b"\0\0\0\x2c\0\0\0\0\x20\x4e\x20\x4e\0\x02\x01\x2c\0\x3b",
    ]
    .concat();
    let png = png_with(20_000, 20_000, &[]);
    for (bytes, media_type) in [(bmp, "image/bmp"), (gif, "image/gif"), (png, "image/png")] {
        assert_eq!(
            prepare(&bytes, media_type, limits(2000, 2000, 100_000)),
            Err(ImageError::TooManyPixels),
            "{media_type}"
        );
    }
    // Each dimension is small enough, but the pixels have 64 bits.
    let deep = encoded(
        image::ImageBuffer::<Rgba<u16>, Vec<u16>>::new(1, 1),
        ImageFormat::Png,
    );
    let deep = with_header(&deep, 7000, 7000);
    assert_eq!(
        prepare(&deep, "image/png", limits(2000, 2000, 100_000)),
        Err(ImageError::TooManyPixels)
    );
}

/// Returns a PNG whose header has the given dimensions, followed by chunks.
fn png_with(width: u32, height: u32, chunks: &[Vec<u8>]) -> Vec<u8> {
    let mut png = with_header(&encoded(noise(1, 1), ImageFormat::Png), width, height);
    png.splice(33..33, chunks.concat());
    png
}

fn with_header(png: &[u8], width: u32, height: u32) -> Vec<u8> {
    let mut data = png[16..29].to_vec();
    data[..4].copy_from_slice(&width.to_be_bytes());
    data[4..8].copy_from_slice(&height.to_be_bytes());
    [&png[..8], &chunk(b"IHDR", &data), &png[33..]].concat()
}

fn chunk(kind: &[u8], data: &[u8]) -> Vec<u8> {
    let mut crc = u32::MAX;
    for byte in kind.iter().chain(data) {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = if crc & 1 == 1 {
                0xedb8_8320 ^ (crc >> 1)
            } else {
                crc >> 1
            };
        }
    }
    let length = u32::try_from(data.len()).unwrap().to_be_bytes();
    [&length[..], kind, data, &(!crc).to_be_bytes()].concat()
}

/// A zlib stream of stored blocks; a real bomb would be smaller, but is read the same way.
fn stored_zlib(length: usize) -> Vec<u8> {
    let mut stream = vec![0x78, 0x01];
    for start in (0..length).step_by(0xffff) {
        let size = u16::try_from((length - start).min(0xffff)).unwrap();
        stream.push(u8::from(start + usize::from(size) == length));
        stream.extend_from_slice(&size.to_le_bytes());
        stream.extend_from_slice(&(!size).to_le_bytes());
        stream.resize(stream.len() + usize::from(size), b'a');
    }
    // The checksum is not verified.
    stream.extend_from_slice(&[0; 4]);
    stream
}

#[test]
fn metadata_of_png_files_is_not_inflated() {
    let bomb = stored_zlib(1 << 20);
    let text = |kind: &[u8; 4], head: &[u8]| chunk(kind, &[head, &bomb].concat());
    let chunks = [
        text(b"iCCP", b"icc\0\0"),
        text(b"zTXt", b"Comment\0\0"),
        text(b"iTXt", b"Comment\0\x01\0\0\0"),
        text(b"tEXt", b"Comment\0"),
        chunk(b"pHYs", &[0, 0, 0, 1, 0, 0, 0, 1, 1]),
    ];
    let bytes = png_with(1, 1, &chunks);
    let stripped = decode::without_metadata(&bytes);
    assert_eq!(*stripped, *png_with(1, 1, &chunks[4..]));
    let prepared = prepare(&bytes, "image/png", limits(8, 8, 100_000)).unwrap();
    assert_eq!(decoded(&prepared).to_rgb8(), noise(1, 1));
    // Nothing to remove: no copy.
    let plain = encoded(noise(2, 2), ImageFormat::Png);
    assert!(matches!(
        decode::without_metadata(&plain),
        std::borrow::Cow::Borrowed(_)
    ));
}

#[test]
fn images_are_prepared_one_at_a_time() {
    let turn = wait_for_turn();
    let bytes = encoded(noise(8, 8), ImageFormat::Png);
    let cancel = CancellationToken::new();
    let preparing = {
        let cancel = cancel.clone();
        std::thread::spawn(move || {
            prepare_image(&bytes, "image/png", Some(limits(4, 4, 100_000)), &cancel)
        })
    };
    assert!(!preparing.is_finished());
    // The image that waits for its turn is canceled before it is decoded.
    cancel.cancel();
    drop(turn);
    assert_eq!(preparing.join().unwrap(), Err(ImageError::Canceled));
}

#[test]
fn only_supported_images_are_detected() {
    let png = encoded(noise(2, 2), ImageFormat::Png);
    let mut animated = png.clone();
    animated.splice(33..33, *b"\0\0\0\x08acTL\0\0\0\x02\0\0\0\0\0\0\0\0");
    for (head, expected) in [
        (&png[..], Some("image/png")),
        (&animated[..], None),
        (&png[..12], None),
        (b"\xff\xd8\xff\xe0junk", Some("image/jpeg")),
        (b"\xff\xd8\xff\xf7junk", None),
        (b"GIF89a", Some("image/gif")),
        (b"GIF88a", None),
        (b"RIFF\0\0\0\0WEBPVP8 ", Some("image/webp")),
        (b"RIFF\0\0\0\0WAVE", None),
        (b"BMW is a car, and this is a text about it", None),
        (b"BM", None),
        (b"plain text", None),
        (b"", None),
    ] {
        assert_eq!(sniff_image(head), expected, "{head:?}");
    }
}

#[test]
fn result_images_are_prepared_or_kept() {
    let large = encoded(noise(40, 20), ImageFormat::Png);
    let block = |bytes: &[u8], media_type: &str| {
        InputBlock::Image(ImageContent::new(STANDARD.encode(bytes), media_type))
    };
    let small = block(&encoded(noise(4, 4), ImageFormat::Png), "image/png");
    let broken = block(b"junk", "image/heic");
    let content = vec![
        InputBlock::text("seen"),
        block(&large, "image/png"),
        small.clone(),
        broken.clone(),
    ];
    let prepared = prepare_result_images(
        content,
        Some(limits(20, 20, 100_000)),
        &CancellationToken::new(),
    );
    assert_eq!(prepared.len(), 5);
    assert_eq!(prepared[0], InputBlock::text("seen"));
    assert!(matches!(&prepared[2], InputBlock::Text(note) if note.text.contains("40x20")));
    assert_eq!(prepared[3..], [small, broken]);
}
