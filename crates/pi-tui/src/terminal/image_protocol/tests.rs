use super::*;
use pretty_assertions::assert_eq;

fn png(width: u32, height: u32) -> String {
    let mut bytes = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec();
    bytes.extend(width.to_be_bytes());
    bytes.extend(height.to_be_bytes());
    bytes.extend([8, 6, 0, 0, 0]);
    STANDARD.encode(bytes)
}

#[test]
fn dimensions_are_read_from_every_format() {
    let jpeg = b"\xff\xd8\xff\xe0\x00\x04ab\xff\xc0\x00\x11\x08\x00\x20\x00\x40rest";
    let gif = b"GIF89a\x40\x00\x20\x00";
    let mut webp_lossless = b"RIFF....WEBPVP8L....\x2f".to_vec();
    webp_lossless.extend((63_u32 | (31 << 14)).to_le_bytes());
    let mut webp_extended = b"RIFF....WEBPVP8X........".to_vec();
    webp_extended.extend([63, 0, 0, 31, 0, 0]);
    let mut webp_lossy = b"RIFF....WEBPVP8 ..........".to_vec();
    webp_lossy.extend([64, 0, 32, 0]);
    let expected = Some(ImageDimensions {
        width: 64,
        height: 32,
    });
    assert_eq!(image_dimensions(&png(64, 32)), expected);
    for bytes in [
        jpeg.as_slice(),
        gif.as_slice(),
        &webp_lossless,
        &webp_extended,
        &webp_lossy,
    ] {
        assert_eq!(image_dimensions(&STANDARD.encode(bytes)), expected);
    }
    for text in ["", "AAAA", "%%%%", "/9j/"] {
        assert_eq!(image_dimensions(text), None, "{text:?}");
    }
}

#[test]
fn images_keep_their_aspect_ratio() {
    let cell = CellSize::default();
    let fit = |width, height, columns, rows| {
        let cells = ImageCells::fit(ImageDimensions { width, height }, columns, rows, cell);
        (cells.columns, cells.rows)
    };
    assert_eq!(fit(180, 180, 20, None), (20, 10));
    assert_eq!(fit(180, 180, 20, Some(5)), (10, 5));
    assert_eq!(fit(1000, 10, 20, Some(5)), (20, 1));
    assert_eq!(fit(0, 0, 0, Some(0)), (1, 1));
    assert_eq!(fit(u32::MAX, 1, usize::MAX, Some(1)).1, 1);
}

#[test]
fn large_payloads_are_sent_in_chunks() {
    let cells = ImageCells {
        columns: 2,
        rows: 3,
    };
    assert_eq!(
        kitty_image("AAAA", 7, cells),
        "\x1b_Ga=T,f=100,q=2,C=1,c=2,r=3,i=7;AAAA\x1b\\"
    );
    let command = kitty_image(&"A".repeat(KITTY_CHUNK * 2 + 1), 7, cells);
    let heads: Vec<&str> = command
        .split("\x1b_G")
        .skip(1)
        .filter_map(|part| Some(part.split_once(';')?.0))
        .collect();
    assert_eq!(heads, ["a=T,f=100,q=2,C=1,c=2,r=3,i=7,m=1", "m=1", "m=0"]);
}

#[test]
fn an_image_takes_as_many_lines_as_rows_and_is_found_in_them() {
    let cells = ImageCells {
        columns: 4,
        rows: 3,
    };
    let kitty = image_lines(ImageProtocol::Kitty, "AAAA", 9, cells);
    assert_eq!(kitty.len(), 3);
    let span = ImageSpan {
        above: 0,
        below: 2,
        id: Some(9),
    };
    assert_eq!(ImageSpan::find(&kitty[0]), Some(span));
    let iterm = image_lines(ImageProtocol::ITerm2, "AAA=", 0, cells);
    assert_eq!(
        iterm[2],
        "\x1b[2A\x1b]1337;File=inline=1;size=2;width=4;height=auto:AAA=\x07"
    );
    let span = ImageSpan {
        above: 2,
        below: 0,
        id: None,
    };
    assert_eq!(ImageSpan::find(&iterm[2]), Some(span));
    assert_eq!(ImageSpan::find("plain \x1b[1mbold"), None);
}

#[test]
fn images_are_cropped_by_pixels() {
    let cells = ImageCells {
        columns: 4,
        rows: 4,
    };
    let line = kitty_image(&png(40, 100), 9, cells);
    let cropped = ImageSpan::crop(&line, 1, 2).unwrap();
    assert!(
        cropped.starts_with("\x1b_Ga=T,f=100,q=2,C=1,c=4,i=9,y=25,h=50,r=2;"),
        "{cropped:?}"
    );
    assert_eq!(ImageSpan::crop(&line, 0, 9), Some(line.clone()));
    assert_eq!(ImageSpan::crop(&line, 4, 1), None);
    assert_eq!(
        ImageSpan::place_uploaded(&cropped).as_deref(),
        Some("\x1b_Ga=p,q=2,C=1,c=4,i=9,y=25,h=50,r=2;\x1b\\")
    );
}

#[test]
fn fallback_text_describes_the_image() {
    let size = ImageDimensions {
        width: 3,
        height: 2,
    };
    assert_eq!(
        image_fallback("image/png", Some(size), Some("cat.png")),
        "[Image: cat.png [image/png] 3x2]"
    );
    assert_eq!(
        image_fallback("image/gif", None, None),
        "[Image: [image/gif]]"
    );
}
