//! A registry of npm packages on the loopback interface: documents and archives made in the test.
//!
//! It runs on threads of its own, so that tests which start processes and wait for them can use it.

use std::collections::{BTreeMap, HashSet};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha512};

/// A running registry. Its threads end with the process.
#[derive(Debug)]
pub struct NpmRegistry {
    address: SocketAddr,
    shelf: Arc<Shelf>,
}

#[derive(Debug, Default)]
struct Shelf {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    packages: BTreeMap<String, BTreeMap<String, Value>>,
    archives: BTreeMap<String, Vec<u8>>,
    requests: Vec<(String, Option<String>)>,
    held: HashSet<String>,
    token: Option<String>,
}

impl Shelf {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for NpmRegistry {
    fn default() -> Self {
        Self::start()
    }
}

impl NpmRegistry {
    /// Starts an empty registry.
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let shelf = Arc::new(Shelf::default());
        let serving = Arc::clone(&shelf);
        std::thread::spawn(move || {
            for connection in listener.incoming().flatten() {
                let shelf = Arc::clone(&serving);
                // A client that goes away is no fault of the test.
                std::thread::spawn(move || serve(&connection, &shelf, address).ok());
            }
        });
        Self { address, shelf }
    }

    /// Returns the address for an `.npmrc`.
    pub fn url(&self) -> String {
        format!("http://{}/", self.address)
    }

    /// Returns the address without its scheme, as `.npmrc` files name credentials.
    pub fn place(&self) -> String {
        format!("//{}/", self.address)
    }

    /// Refuses whoever does not show this token.
    pub fn require_token(&self, token: &str) {
        self.shelf.state().token = Some(token.to_owned());
    }

    /// Publishes a version: its `package.json` without name and version, and its files.
    pub fn publish(&self, name: &str, version: &str, manifest: &Value, files: &[(&str, &str)]) {
        let mut manifest = manifest.as_object().cloned().unwrap_or_default();
        manifest.insert("name".to_owned(), json!(name));
        manifest.insert("version".to_owned(), json!(version));
        let mut all = vec![(
            "package.json".to_owned(),
            Value::Object(manifest.clone()).to_string(),
        )];
        let files = files.iter();
        all.extend(files.map(|(path, content)| ((*path).to_owned(), (*content).to_owned())));
        self.publish_archive(name, version, manifest, archive(&all));
    }

    /// Publishes an archive as it is.
    pub fn publish_archive(
        &self,
        name: &str,
        version: &str,
        mut manifest: Map<String, Value>,
        archive: Vec<u8>,
    ) {
        let path = format!("/{name}/-/{version}.tgz");
        let integrity = format!("sha512-{}", STANDARD.encode(Sha512::digest(&archive)));
        let tarball = format!("http://{}{path}", self.address);
        manifest.insert(
            "dist".to_owned(),
            json!({"tarball": tarball, "integrity": integrity}),
        );
        let mut state = self.shelf.state();
        state.archives.insert(path, archive);
        let versions = state.packages.entry(name.to_owned()).or_default();
        versions.insert(version.to_owned(), Value::Object(manifest));
    }

    /// Changes an archive behind the back of its checksum.
    pub fn tamper(&self, name: &str, version: &str) {
        let path = format!("/{name}/-/{version}.tgz");
        let mut state = self.shelf.state();
        let archive = state.archives.get_mut(&path).unwrap();
        *archive = self::archive(&[("package.json".to_owned(), "{}".to_owned())]);
    }

    /// Answers nothing about an archive until it is let go.
    pub fn hold(&self, name: &str, version: &str) {
        let path = format!("/{name}/-/{version}.tgz");
        self.shelf.state().held.insert(path);
    }

    /// Answers what was held.
    pub fn let_go(&self) {
        self.shelf.state().held.clear();
        self.shelf.changed.notify_all();
    }

    /// Waits until something was asked for.
    pub fn asked(&self, path: &str) {
        let state = self.shelf.state();
        let asked = |state: &mut State| !state.requests.iter().any(|(target, _)| target == path);
        drop(self.shelf.changed.wait_while(state, asked).unwrap());
    }

    /// Returns the paths that were asked for, with the credentials that were shown.
    pub fn requests(&self) -> Vec<(String, Option<String>)> {
        self.shelf.state().requests.clone()
    }
}

/// Packs files as `npm pack` does, whatever their names; those are short.
pub fn archive(files: &[(String, String)]) -> Vec<u8> {
    let encoder = GzEncoder::new(Vec::new(), Compression::fast());
    let mut builder = tar::Builder::new(encoder);
    for (path, content) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(content.len() as u64);
        header.set_mode(0o644);
        // An honest builder would refuse names that tests of dishonest archives need.
        let name = format!("package/{path}");
        let field = &mut header.as_old_mut().name;
        field
            .get_mut(..name.len())
            .expect("the name is short")
            .copy_from_slice(name.as_bytes());
        header.set_cksum();
        builder.append(&header, content.as_bytes()).unwrap();
    }
    builder.into_inner().unwrap().finish().unwrap()
}

fn serve(connection: &TcpStream, shelf: &Shelf, address: SocketAddr) -> std::io::Result<()> {
    let mut reader = BufReader::new(connection.try_clone()?);
    loop {
        let mut start = String::new();
        if reader.read_line(&mut start)? == 0 {
            return Ok(());
        }
        let target = start.split(' ').nth(1).unwrap_or_default().to_owned();
        let mut authorization = None;
        let mut length = 0;
        loop {
            let mut line = String::new();
            reader.read_line(&mut line)?;
            let line = line.trim_end();
            if line.is_empty() {
                break;
            }
            let Some((name, value)) = line.split_once(": ") else {
                continue;
            };
            match name.to_ascii_lowercase().as_str() {
                "authorization" => authorization = Some(value.to_owned()),
                "content-length" => length = value.parse().unwrap_or(0),
                _ => {}
            }
        }
        // What a client sends is of no interest; it only has to be out of the way.
        std::io::copy(&mut (&mut reader).take(length), &mut std::io::sink())?;
        let (status, body) = shelf.answer(&target, authorization, address);
        let mut stream = connection;
        write!(
            stream,
            "HTTP/1.1 {status} X\r\ncontent-length: {}\r\n\r\n",
            body.len()
        )?;
        stream.write_all(&body)?;
    }
}

impl Shelf {
    fn answer(
        &self,
        target: &str,
        authorization: Option<String>,
        address: SocketAddr,
    ) -> (u16, Vec<u8>) {
        let mut state = self.state();
        let expected = state.token.as_ref().map(|token| format!("Bearer {token}"));
        let is_known = expected.is_none() || expected == authorization;
        state.requests.push((target.to_owned(), authorization));
        self.changed.notify_all();
        if !is_known {
            return (401, b"{}".to_vec());
        }
        let held = |state: &mut State| state.held.contains(target);
        let state = self.changed.wait_while(state, held).unwrap();
        if let Some(archive) = state.archives.get(target) {
            return (200, archive.clone());
        }
        let name = target.trim_start_matches('/').replace("%2f", "/");
        match state.packages.get(&name) {
            Some(versions) => {
                let latest = versions.keys().next_back();
                let document = json!({
                    "name": name, "dist-tags": {"latest": latest}, "versions": versions,
                    "registry": address.to_string(),
                });
                (200, document.to_string().into_bytes())
            }
            None => (404, b"{}".to_vec()),
        }
    }
}
