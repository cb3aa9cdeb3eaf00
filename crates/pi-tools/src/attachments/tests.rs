//! Attachments of each kind of file.

use pi_test_support::TempHome;
use pretty_assertions::assert_eq;

use super::*;

/// The smallest PNG: one pixel.
const PIXEL: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

async fn read(home: &TempHome, arguments: &[&str]) -> Result<Attachments, AttachmentError> {
    let arguments: Vec<String> = arguments.iter().map(|&it| it.to_owned()).collect();
    let env = Env::fixed([("HOME", home.path().to_str().unwrap())]);
    read_attachments(&arguments, &home.path().join("project"), &env).await
}

fn home() -> TempHome {
    let home = TempHome::new();
    home.write("project/a.txt", "alpha\nbeta\n");
    home.write("project/bom.txt", "\u{feff}bom\n");
    home.write("project/empty.txt", "");
    home.write("notes.txt", b"bad \xff byte");
    home
}

#[tokio::test]
async fn text_is_wrapped_with_its_path_in_the_order_given() {
    let home = home();
    let read = read(&home, &["@a.txt", "@empty.txt", "bom.txt", "@~/notes.txt"])
        .await
        .unwrap();
    let root = home.path().display();
    assert_eq!(
        read.text,
        format!(
            "<file name=\"{root}/project/a.txt\">\nalpha\nbeta\n\n</file>\n\
             <file name=\"{root}/project/bom.txt\">\nbom\n\n</file>\n\
             <file name=\"{root}/notes.txt\">\nbad \u{fffd} byte\n</file>\n"
        )
    );
    assert!(read.images.is_empty());
}

#[tokio::test]
async fn an_image_keeps_its_bytes_and_leaves_an_empty_element() {
    use base64::Engine as _;
    let home = home();
    let bytes = base64::engine::general_purpose::STANDARD
        .decode(PIXEL)
        .unwrap();
    home.write("project/dot.png", bytes);
    home.write(
        "project/broken.png",
        b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDRnot an image",
    );
    let read = read(&home, &["@dot.png"]).await.unwrap();
    let root = home.path().display();
    assert_eq!(
        read.text,
        format!("<file name=\"{root}/project/dot.png\"></file>\n")
    );
    assert_eq!(read.images, [ImageContent::new(PIXEL, "image/png")]);
}

#[tokio::test]
async fn a_missing_file_is_named() {
    let home = home();
    let error = read(&home, &["@a.txt", "@nope.txt"]).await.unwrap_err();
    assert!(
        matches!(&error, AttachmentError::Missing { path } if path.ends_with("project/nope.txt"))
    );
    let folder = read(&home, &["@../project"]).await.unwrap_err();
    assert!(
        matches!(folder, AttachmentError::Unreadable { .. }),
        "{folder}"
    );
}

#[cfg(unix)]
#[tokio::test]
async fn a_pipe_does_not_block_startup() {
    let home = home();
    let pipe = home.path().join("project/pipe");
    let made = std::process::Command::new("mkfifo")
        .arg(&pipe)
        .status()
        .unwrap();
    assert!(made.success());
    let error = read(&home, &["@pipe"]).await.unwrap_err();
    assert!(error.to_string().contains("not a regular file"), "{error}");
}

#[cfg(unix)]
#[tokio::test]
async fn a_name_with_different_whitespace_is_found() {
    let home = home();
    home.write("project/Shot 9.41\u{202f}AM.txt", "x");
    let read = read(&home, &["@Shot 9.41 AM.txt"]).await.unwrap();
    assert!(read.text.contains("AM.txt\">\nx\n"), "{}", read.text);
}
