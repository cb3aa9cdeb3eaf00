//! Credentials: the token of scripts, one secret per signed-in browser, and one-time codes that browsers sign in with.
//!
//! The file has mode 0600. It keeps the token, because scripts read it there, and only the hashes of the browsers'
//! secrets.

use std::collections::VecDeque;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use parking_lot::{Mutex, MutexGuard};
use pi_fs::NewFileMode;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use tokio::time::Instant;

/// How long a one-time code is valid.
const CODE_LIFETIME: Duration = Duration::from_mins(10);

/// Open one-time codes; older ones expire early.
const MAX_CODES: usize = 16;

/// Failed attempts within [`FAILURE_WINDOW`] before further ones are refused unseen.
const MAX_FAILURES: usize = 10;

const FAILURE_WINDOW: Duration = Duration::from_mins(1);

/// Signed-in browsers; the one that was used least recently is signed out.
const MAX_DEVICES: usize = 64;

/// How exact the time of the last use is, in milliseconds.
const USE_RESOLUTION: u64 = 60 * 60 * 1000;

/// A signed-in browser.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Device {
    pub(crate) id: String,
    pub(crate) name: String,
    /// Milliseconds since the Unix epoch.
    pub(crate) created: u64,
    pub(crate) last_used: u64,
    /// SHA-256 of its secret, in hexadecimal digits.
    hash: String,
}

#[derive(Serialize, Deserialize)]
struct CredentialFile {
    token: String,
    #[serde(default)]
    devices: Vec<Device>,
}

/// Who sent a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Caller {
    /// A process of the same user, or one that knows the token.
    Owner,
    /// A signed-in browser, by its ID.
    Device(String),
}

/// Why a browser was not signed in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SignInProblem {
    /// The code or token is wrong, was used before, or has expired.
    Invalid,
    TooManyAttempts,
}

pub(crate) struct Credentials {
    path: PathBuf,
    state: Mutex<CredentialState>,
}

struct CredentialState {
    file: CredentialFile,
    /// Hashes of the codes and when they expire, oldest first.
    codes: VecDeque<([u8; 32], Instant)>,
    /// When the last failed attempts were made.
    failures: VecDeque<Instant>,
}

impl Credentials {
    /// Reads the credentials, or creates them.
    pub(crate) fn open(path: PathBuf) -> io::Result<Self> {
        let file = match std::fs::read(&path) {
            Ok(bytes) => serde_json::from_slice(&bytes).map_err(|error| {
                let problem = format!("{error}; delete the file to create new credentials");
                io::Error::new(io::ErrorKind::InvalidData, problem)
            })?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let file = CredentialFile {
                    token: random_text::<32>()?,
                    devices: Vec::new(),
                };
                if let Some(directory) = path.parent() {
                    pi_fs::private::create_directory(directory)?;
                }
                write(&path, &file)?;
                file
            }
            Err(error) => return Err(error),
        };
        Ok(Self {
            path,
            state: Mutex::new(CredentialState {
                file,
                codes: VecDeque::new(),
                failures: VecDeque::new(),
            }),
        })
    }

    fn state(&self) -> MutexGuard<'_, CredentialState> {
        self.state.lock()
    }

    /// Returns who presents one of these credentials. A wrong one counts as a failed attempt.
    pub(crate) fn identify(&self, presented: &[&str]) -> Option<Caller> {
        let mut state = self.state();
        let token = digest(&state.file.token);
        for secret in presented {
            let hash = digest(secret);
            if is_equal(&hash, &token) {
                return Some(Caller::Owner);
            }
            let hash = pi_protocol::hex(&hash);
            let mut devices = state.file.devices.iter_mut();
            let device = devices.find(|device| is_equal(device.hash.as_bytes(), hash.as_bytes()));
            if let Some(device) = device {
                let id = device.id.clone();
                let now = now_ms();
                if device.last_used + USE_RESOLUTION < now {
                    device.last_used = now;
                    self.save(&state);
                }
                return Some(Caller::Device(id));
            }
        }
        if !presented.is_empty() {
            state.record_failure();
        }
        None
    }

    /// Whether so many attempts have failed that further ones are refused.
    pub(crate) fn is_locked(&self) -> bool {
        self.state().is_locked()
    }

    /// Creates a code that signs in one browser.
    pub(crate) fn new_code(&self) -> io::Result<String> {
        let code = random_text::<16>()?;
        let mut state = self.state();
        if state.codes.len() == MAX_CODES {
            state.codes.pop_front();
        }
        state
            .codes
            .push_back((digest(&code), Instant::now() + CODE_LIFETIME));
        Ok(code)
    }

    /// Signs a browser in with a code or the token; returns the device and its secret.
    pub(crate) fn sign_in(
        &self,
        code: &str,
        name: String,
    ) -> Result<io::Result<(Device, String)>, SignInProblem> {
        let mut state = self.state();
        if state.is_locked() {
            return Err(SignInProblem::TooManyAttempts);
        }
        if !state.take_code(code) && !is_equal(&digest(code), &digest(&state.file.token)) {
            state.record_failure();
            return Err(SignInProblem::Invalid);
        }
        Ok(self.add_device(&mut state, name))
    }

    fn add_device(
        &self,
        state: &mut CredentialState,
        name: String,
    ) -> io::Result<(Device, String)> {
        let secret = random_text::<32>()?;
        let device = Device {
            id: random_text::<9>()?,
            name,
            created: now_ms(),
            last_used: now_ms(),
            hash: pi_protocol::hex(&digest(&secret)),
        };
        let devices = &mut state.file.devices;
        if devices.len() >= MAX_DEVICES {
            pi_protocol::sort_by_key(devices, |device| device.last_used);
            devices.remove(0);
        }
        devices.push(device.clone());
        write(&self.path, &state.file)?;
        Ok((device, secret))
    }

    pub(crate) fn devices(&self) -> Vec<Device> {
        self.state().file.devices.clone()
    }

    /// Signs a browser out; returns whether there was one with this ID.
    pub(crate) fn revoke(&self, id: &str) -> bool {
        let mut state = self.state();
        let before = state.file.devices.len();
        state.file.devices.retain(|device| device.id != id);
        let is_removed = state.file.devices.len() < before;
        if is_removed {
            self.save(&state);
        }
        is_removed
    }

    fn save(&self, state: &CredentialState) {
        if let Err(error) = write(&self.path, &state.file) {
            tracing::warn!(%error, "cannot write the credentials of pi serve");
        }
    }
}

impl CredentialState {
    fn record_failure(&mut self) {
        if self.failures.len() == MAX_FAILURES {
            self.failures.pop_front();
        }
        self.failures.push_back(Instant::now());
    }

    fn is_locked(&self) -> bool {
        let recent = self.failures.iter();
        let recent = recent.filter(|failure| failure.elapsed() < FAILURE_WINDOW);
        recent.count() >= MAX_FAILURES
    }

    /// Removes a code that is still valid; returns whether there was one.
    fn take_code(&mut self, code: &str) -> bool {
        let now = Instant::now();
        self.codes.retain(|(_, expires)| *expires > now);
        let hash = digest(code);
        let mut codes = self.codes.iter();
        let position = codes.position(|(known, _)| is_equal(known, &hash));
        position.is_some_and(|position| self.codes.remove(position).is_some())
    }
}

fn write(path: &Path, file: &CredentialFile) -> io::Result<()> {
    let json = serde_json::to_vec_pretty(file)?;
    pi_fs::atomic_file::write(path, &json, NewFileMode::AlwaysPrivate)
}

fn digest(text: &str) -> [u8; 32] {
    Sha256::digest(text.as_bytes()).into()
}

/// Compares in a time that depends on the lengths alone.
fn is_equal(left: &[u8], right: &[u8]) -> bool {
    let pairs = left.iter().zip(right);
    let difference = pairs.fold(0, |difference, (left, right)| difference | (left ^ right));
    left.len() == right.len() && std::hint::black_box(difference) == 0
}

/// Returns random bytes as text for URLs and cookies.
pub(crate) fn random_text<const LENGTH: usize>() -> io::Result<String> {
    let mut bytes = [0; LENGTH];
    getrandom::fill(&mut bytes)?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| {
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    })
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn open() -> (tempfile::TempDir, Credentials) {
        let directory = tempfile::tempdir().unwrap();
        let credentials = Credentials::open(directory.path().join("serve.json")).unwrap();
        (directory, credentials)
    }

    fn sign_in(credentials: &Credentials, code: &str) -> Result<String, SignInProblem> {
        let signed_in = credentials.sign_in(code, "phone".to_owned())?;
        Ok(signed_in.unwrap().1)
    }

    #[tokio::test(start_paused = true)]
    async fn a_code_signs_in_once_and_expires() {
        let (_directory, credentials) = open();
        let code = credentials.new_code().unwrap();
        let secret = sign_in(&credentials, &code).unwrap();
        assert!(matches!(
            credentials.identify(&[&secret]),
            Some(Caller::Device(_))
        ));
        assert_eq!(sign_in(&credentials, &code), Err(SignInProblem::Invalid));
        let late = credentials.new_code().unwrap();
        tokio::time::advance(CODE_LIFETIME).await;
        assert_eq!(sign_in(&credentials, &late), Err(SignInProblem::Invalid));
    }

    #[tokio::test(start_paused = true)]
    async fn too_many_failures_lock_signing_in_for_a_while() {
        let (_directory, credentials) = open();
        let code = credentials.new_code().unwrap();
        for _ in 0..MAX_FAILURES {
            assert!(!credentials.is_locked());
            assert_eq!(credentials.identify(&["wrong"]), None);
        }
        let locked = Err(SignInProblem::TooManyAttempts);
        assert_eq!(sign_in(&credentials, &code), locked);
        tokio::time::advance(FAILURE_WINDOW).await;
        assert!(sign_in(&credentials, &code).is_ok());
        // Without a credential, nothing was tried.
        assert_eq!(credentials.identify(&[]), None);
    }

    #[tokio::test]
    async fn devices_survive_a_restart_until_they_are_revoked() {
        let (directory, credentials) = open();
        let path = directory.path().join("serve.json");
        let token = credentials.state().file.token.clone();
        let secret = sign_in(&credentials, &token).unwrap();
        let stored = std::fs::read_to_string(&path).unwrap();
        assert!(!stored.contains(&secret));
        let again = Credentials::open(path.clone()).unwrap();
        assert_eq!(again.identify(&[&token]), Some(Caller::Owner));
        let Some(Caller::Device(id)) = again.identify(&["x", &secret]) else {
            panic!("not signed in");
        };
        assert!(again.revoke(&id));
        assert!(!again.revoke(&id));
        assert_eq!(again.identify(&[&secret]), None);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let mode = std::fs::metadata(path).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
    }
}
