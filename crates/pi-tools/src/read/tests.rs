use image::{DynamicImage, ImageFormat, RgbImage};
use pretty_assertions::assert_eq;
use serde_json::json;

use super::*;
use crate::images::{ImagePolicy, ImageResizeLimits};
use crate::memory::MemoryFiles;
use crate::testing::{BoundTool, TestProject, call, call_with_token, text};

fn tool() -> BoundTool {
    let files = MemoryFiles::default()
        .with("/project/a.txt", "l1\nl2\nl3\nl4\nl5\n")
        .with("/project/noeol.txt", "x\ny")
        .with("/project/empty.txt", "")
        .with("/project/crlf.txt", "one\r\ntwo\r\nthree\r\n")
        .with("/project/uni.txt", "grüße\n日本\n")
        .with("/project/latin.txt", b"caf\xe9\n")
        .with("/project/with space.txt", "spaced\n")
        .with("/project/line\nbreak", "broken\n")
        .with("/project/Shot 9.41\u{202f}AM.txt", "shot\n")
        .with("/project/odd\u{a0}name", "odd\n")
        .with("/project/sub/deep.txt", "deep\n")
        .with("/project/fake.png", "not an image\n")
        .with("/project/bin", b"\0\x01\xff\xfeABC\n\xff\xc3")
        .with("/project/wide", b"\xff\xfea\0\n\0")
        .with("/home/me/h.txt", "home file\n");
    TestProject::new(&files).read()
}

#[tokio::test]
async fn text_and_ranges_are_returned() {
    let all = "l1\nl2\nl3\nl4\nl5\n";
    for (arguments, expected) in [
        (json!({"path": "a.txt"}), all),
        (json!({"path": "a.txt", "offset": 2}), "l2\nl3\nl4\nl5\n"),
        (
            json!({"path": "a.txt", "limit": 2}),
            "l1\nl2\n\n[4 more lines in file. Use offset=3 to continue]",
        ),
        (
            json!({"path": "a.txt", "offset": 2, "limit": 2}),
            "l2\nl3\n\n[3 more lines in file. Use offset=4 to continue]",
        ),
        (json!({"path": "a.txt", "limit": 6}), all),
        (json!({"path": "a.txt", "offset": 6}), ""),
        (
            json!({"path": "a.txt", "offset": 0, "limit": 1}),
            "l1\n\n[5 more lines in file. Use offset=2 to continue]",
        ),
        (json!({"path": "a.txt", "offset": -3}), all),
        (
            json!({"path": "a.txt", "offset": null, "limit": "2.9"}),
            "l1\nl2\n\n[4 more lines in file. Use offset=3 to continue]",
        ),
        (json!({"path": "noeol.txt"}), "x\ny"),
        (json!({"path": "empty.txt"}), ""),
        (json!({"path": "crlf.txt"}), "one\r\ntwo\r\nthree\r\n"),
        (json!({"path": "uni.txt"}), "grüße\n日本\n"),
        (json!({"path": "latin.txt"}), "caf\u{fffd}\n"),
        (json!({"path": "with space.txt"}), "spaced\n"),
        (json!({"path": "with\u{a0}space.txt"}), "spaced\n"),
        (json!({"path": "line\nbreak"}), "broken\n"),
        (json!({"path": "Shot 9.41 AM.txt"}), "shot\n"),
        (json!({"path": "odd\u{a0}name"}), "odd\n"),
        (json!({"path": "./sub/../sub/deep.txt"}), "deep\n"),
        (json!({"path": "/project/a.txt"}), all),
        (json!({"path": "file:///project/a.txt"}), all),
        (json!({"path": "~/h.txt"}), "home file\n"),
        (json!({"path": "@a.txt"}), all),
        (json!({"path": "fake.png"}), "not an image\n"),
    ] {
        let output = call(&tool(), arguments.clone()).await.unwrap();
        assert_eq!(text(&output), expected, "{arguments}");
        assert_eq!(output.details, None, "{arguments}");
        assert_eq!(output.structured_content, Some(json!(expected)));
    }
}

#[tokio::test]
async fn read_errors_are_reported() {
    for (arguments, message) in [
        (
            json!({"path": "a.txt", "offset": 7}),
            "Line 7 is beyond the end of a.txt (6 lines)",
        ),
        (
            json!({"path": "nope.txt"}),
            "Cannot read nope.txt: no such file or directory (ENOENT)",
        ),
        (
            json!({"path": "sub"}),
            "Cannot read sub: is a directory (EISDIR)",
        ),
        (json!({"path": ""}), "Cannot read : is a directory (EISDIR)"),
        (
            json!({"path": "bin"}),
            "Cannot read bin: the file is binary (10B). Use `file bin` to identify it or `xxd bin | head` \
             to inspect it.",
        ),
        (
            json!({"path": "wide"}),
            "Cannot read wide: the file is UTF-16 text. Use `iconv -f UTF-16 -t UTF-8 wide`.",
        ),
        (
            json!({"path": "file://remote/x"}),
            "Invalid path: \"file://remote/x\" is not a valid local file URL; use a plain path",
        ),
    ] {
        let error = call(&tool(), arguments.clone()).await.unwrap_err();
        assert_eq!(error.0, message, "{arguments}");
    }
}

#[tokio::test]
async fn long_files_are_truncated_with_a_continuation_hint() {
    let many: Vec<String> = (1..=3000)
        .map(|number| format!("line {number}\n"))
        .collect();
    let wide = format!("{}\n", "x".repeat(999)).repeat(100);
    let files = MemoryFiles::default()
        .with("/project/many", many.concat())
        .with("/project/wide", wide)
        .with("/project/o'ne", "y".repeat(60_000));
    let tool = TestProject::new(&files).read();

    let output = call(&tool, json!({"path": "many"})).await.unwrap();
    assert!(
        text(&output).ends_with(
            "\nline 2000\n\n[Showing lines 1-2000 of 3001. Use offset=2001 to continue]"
        )
    );
    let truncation = &output.details.unwrap()["truncation"];
    assert_eq!(truncation["truncatedBy"], "lines");
    assert_eq!(truncation["totalLines"], 3000);
    assert_eq!(truncation["outputLines"], 2000);

    let output = call(&tool, json!({"path": "many", "offset": 2001}))
        .await
        .unwrap();
    assert!(text(&output).ends_with("\nline 3000\n"));
    assert_eq!(output.details, None);

    let output = call(&tool, json!({"path": "wide", "offset": 11}))
        .await
        .unwrap();
    assert!(
        text(&output).ends_with(
            "x\n\n[Showing lines 11-61 of 101 (50.0KB limit). Use offset=62 to continue]"
        )
    );

    let output = call(&tool, json!({"path": "o'ne"})).await.unwrap();
    assert_eq!(
        text(&output),
        "[Line 1 is 58.6KB, which exceeds the 50.0KB limit; use bash to read a part of it: \
         sed -n '1p' 'o'\\''ne' | head -c 51200]"
    );
    assert_eq!(
        output.details.unwrap()["truncation"]["firstLineExceedsLimit"],
        true
    );
}

fn png(width: u32, height: u32) -> Vec<u8> {
    let mut bytes = std::io::Cursor::new(Vec::new());
    DynamicImage::ImageRgb8(RgbImage::new(width, height))
        .write_to(&mut bytes, ImageFormat::Png)
        .unwrap();
    bytes.into_inner()
}

#[tokio::test]
async fn images_are_detected_by_content() {
    let files = MemoryFiles::default()
        .with("/project/dot.dat", png(8, 8))
        .with("/project/wide.png", png(40, 10))
        .with("/project/broken.png", &png(8, 8)[..40]);
    let project = TestProject::new(&files);
    let limits = ImageResizeLimits {
        max_width: 20,
        ..ImageResizeLimits::default()
    };
    project.images.set(ImagePolicy {
        limits: Some(limits),
        model_supports_images: true,
    });
    let tool = project.read();

    let output = call(&tool, json!({"path": "dot.dat"})).await.unwrap();
    assert_eq!(text(&output), "Image file, image/png");
    let Some(InputBlock::Image(image)) = output.content.get(1) else {
        panic!("expected an attached image")
    };
    assert_eq!(image.mime_type, "image/png");
    assert_eq!(output.details, None);
    let structured = json!({
        "type": "image", "data": image.data, "mimeType": "image/png",
        "note": "Image file, image/png",
    });
    assert_eq!(output.structured_content, Some(structured));

    let output = call(&tool, json!({"path": "wide.png"})).await.unwrap();
    assert_eq!(
        text(&output),
        "Image file, image/png\n[Image resized from 40x10 to 20x5; multiply coordinates by 2.00 to \
         map them to the original]"
    );

    project.images.set(ImagePolicy {
        limits: Some(limits),
        model_supports_images: false,
    });
    let output = call(&tool, json!({"path": "dot.dat"})).await.unwrap();
    assert!(text(&output).ends_with(
        "\n[The current model does not support images; the image is omitted from the request]"
    ));
    assert_eq!(output.content.len(), 2);

    let output = call(&tool, json!({"path": "broken.png"})).await.unwrap();
    assert!(
        text(&output)
            .starts_with("Image file, image/png\n[Image omitted: it could not be decoded]")
    );
    assert_eq!(output.content.len(), 1);
}

#[tokio::test]
async fn a_canceled_call_reads_nothing() {
    let cancel = CancellationToken::new();
    cancel.cancel();
    let error = call_with_token(&tool(), json!({"path": "a.txt"}), cancel)
        .await
        .unwrap_err();
    assert_eq!(error.0, "Operation aborted");
}
