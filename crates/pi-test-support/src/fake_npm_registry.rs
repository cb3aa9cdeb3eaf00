//! A fake npm registry on the loopback interface that serves packages published by the test.
//!
//! It runs on plain threads rather than on the test's async runtime, so tests can block while a child process
//! uses it.

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

/// A running registry. Its threads run until the process exits.
#[derive(Debug)]
pub struct FakeNpmRegistry {
    address: SocketAddr,
    contents: Arc<RegistryContents>,
}

#[derive(Debug, Default)]
struct RegistryContents {
    state: Mutex<RegistryState>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct RegistryState {
    packages: BTreeMap<String, BTreeMap<String, Value>>,
    archives: BTreeMap<String, Vec<u8>>,
    requests: Vec<(String, Option<String>)>,
    blocked: HashSet<String>,
    token: Option<String>,
}

impl RegistryContents {
    fn state(&self) -> MutexGuard<'_, RegistryState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for FakeNpmRegistry {
    fn default() -> Self {
        Self::start()
    }
}

impl FakeNpmRegistry {
    /// Starts an empty registry.
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let contents = Arc::new(RegistryContents::default());
        let served = Arc::clone(&contents);
        std::thread::spawn(move || {
            for connection in listener.incoming().flatten() {
                let contents = Arc::clone(&served);
                // A disconnecting client is not a test failure.
                std::thread::spawn(move || serve(&connection, &contents, address).ok());
            }
        });
        Self { address, contents }
    }

    /// Returns the registry URL, for an `.npmrc`.
    pub fn url(&self) -> String {
        format!("http://{}/", self.address)
    }

    /// Returns the URL without its scheme, the prefix of credential keys in an `.npmrc`.
    pub fn npmrc_prefix(&self) -> String {
        format!("//{}/", self.address)
    }

    /// Rejects requests without this bearer token with status 401.
    pub fn require_token(&self, token: &str) {
        self.contents.state().token = Some(token.to_owned());
    }

    /// Publishes a version. `manifest` is its `package.json` without name and version.
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
        self.publish_archive(name, version, manifest, npm_archive(&all));
    }

    /// Publishes an archive unchanged.
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
        let mut state = self.contents.state();
        state.archives.insert(path, archive);
        let versions = state.packages.entry(name.to_owned()).or_default();
        versions.insert(version.to_owned(), Value::Object(manifest));
    }

    /// Replaces an archive without updating its checksum.
    pub fn tamper(&self, name: &str, version: &str) {
        let path = format!("/{name}/-/{version}.tgz");
        let mut state = self.contents.state();
        let archive = state.archives.get_mut(&path).unwrap();
        *archive = npm_archive(&[("package.json".to_owned(), "{}".to_owned())]);
    }

    /// Withholds responses for an archive until [`unblock_archives`](Self::unblock_archives) is called.
    pub fn block_archive(&self, name: &str, version: &str) {
        let path = format!("/{name}/-/{version}.tgz");
        self.contents.state().blocked.insert(path);
    }

    pub fn unblock_archives(&self) {
        self.contents.state().blocked.clear();
        self.contents.changed.notify_all();
    }

    /// Waits until this path has been requested.
    pub fn wait_for_request(&self, path: &str) {
        let state = self.contents.state();
        let is_missing =
            |state: &mut RegistryState| !state.requests.iter().any(|(target, _)| target == path);
        drop(self.contents.changed.wait_while(state, is_missing).unwrap());
    }

    /// Returns the requested paths, each with its `authorization` header.
    pub fn requests(&self) -> Vec<(String, Option<String>)> {
        self.contents.state().requests.clone()
    }
}

/// Packs files as `npm pack` does. Names may be invalid, but must fit a tar header.
pub fn npm_archive(files: &[(String, String)]) -> Vec<u8> {
    let encoder = GzEncoder::new(Vec::new(), Compression::fast());
    let mut builder = tar::Builder::new(encoder);
    for (path, content) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(content.len() as u64);
        header.set_mode(0o644);
        // Write the name directly: the builder rejects the unsafe names that some tests need.
        let name = format!("package/{path}");
        let field = &mut header.as_old_mut().name;
        field
            .get_mut(..name.len())
            .expect("name fits a tar header")
            .copy_from_slice(name.as_bytes());
        header.set_cksum();
        builder.append(&header, content.as_bytes()).unwrap();
    }
    builder.into_inner().unwrap().finish().unwrap()
}

fn serve(
    connection: &TcpStream,
    contents: &RegistryContents,
    address: SocketAddr,
) -> std::io::Result<()> {
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
        // Skip the request body.
        std::io::copy(&mut (&mut reader).take(length), &mut std::io::sink())?;
        let (status, body) = contents.respond(&target, authorization, address);
        let mut stream = connection;
        write!(
            stream,
            "HTTP/1.1 {status} X\r\ncontent-length: {}\r\n\r\n",
            body.len()
        )?;
        stream.write_all(&body)?;
    }
}

impl RegistryContents {
    fn respond(
        &self,
        target: &str,
        authorization: Option<String>,
        address: SocketAddr,
    ) -> (u16, Vec<u8>) {
        let mut state = self.state();
        let expected = state.token.as_ref().map(|token| format!("Bearer {token}"));
        let is_authorized = expected.is_none() || expected == authorization;
        state.requests.push((target.to_owned(), authorization));
        self.changed.notify_all();
        if !is_authorized {
            return (401, b"{}".to_vec());
        }
        let is_blocked = |state: &mut RegistryState| state.blocked.contains(target);
        let state = self.changed.wait_while(state, is_blocked).unwrap();
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
