//! Serves files on the loopback interface, for tests.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::path::{Path, PathBuf};

/// Files by path.
type ServedFiles = BTreeMap<PathBuf, Vec<u8>>;

/// Serves files until the tests end, and returns the address.
pub(crate) fn serve(files: ServedFiles) -> String {
    serve_truncated(files, None)
}

/// Serves files; connections end in the middle of the one at `truncated`.
pub(crate) fn serve_truncated(files: ServedFiles, truncated: Option<&str>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let truncated = truncated.map(PathBuf::from);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = BufReader::new(stream.unwrap());
            let mut lines = (&mut stream).lines().map_while(Result::ok);
            let request = lines.next().unwrap_or_default();
            // The client waits for the answer, so the request ends with an empty line.
            lines.find(String::is_empty);
            let path = request.split(' ').nth(1).unwrap_or("/");
            let path = path.trim_start_matches('/').split('?').next();
            let path = Path::new(path.unwrap_or_default());
            let kind = match path.extension().and_then(|it| it.to_str()) {
                Some("css") => "text/css",
                Some("js") => "text/javascript",
                Some("svg") => "image/svg+xml",
                Some("png") => "image/png",
                _ => "text/html",
            };
            let (status, body) = match files.get(path) {
                Some(body) => ("200 OK", body.as_slice()),
                None => ("404 Not Found", &b""[..]),
            };
            let length = body.len();
            let sent = if truncated.as_deref() == Some(path) {
                length / 2
            } else {
                length
            };
            let head = format!(
                "HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n"
            );
            // Clients may close connections they do not need.
            let stream = stream.get_mut();
            stream.write_all(head.as_bytes()).ok();
            stream.write_all(body.get(..sent).unwrap_or(body)).ok();
        }
    });
    address
}
