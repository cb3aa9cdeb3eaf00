//! The program under test as a server, and its clients.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::{Value, json};

use super::process::command;
use super::samples::Sample;
use super::usage;

/// Sessions that the server has at any time.
const SESSIONS: usize = 50;
/// Turns after which a session is deleted, and another one starts.
const TURNS_PER_SESSION: usize = 20;
/// Clients that stay connected without reading; the server allows 64 connections.
const MAX_IDLE_CLIENTS: usize = 40;
/// Limit for the start of the server, and for one response.
const TIMEOUT: Duration = Duration::from_mins(1);

/// `pi serve` with sessions, and clients that come and go.
pub(super) struct Server {
    child: Child,
    socket: PathBuf,
    sessions: Vec<ServedSession>,
    /// Clients that follow a session and never read.
    idle_clients: Vec<UnixStream>,
    random: Random,
}

struct ServedSession {
    id: String,
    turns: usize,
}

impl Server {
    pub(super) fn start(binary: &Path, home: &Path) -> Result<Self> {
        let socket = home.join("agent/serve.sock");
        let child = command(binary, home)
            .arg("serve")
            .arg("--socket")
            .arg(&socket)
            .args(["--model", "soak/model"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()?;
        let mut server = Self {
            child,
            socket,
            sessions: Vec::new(),
            idle_clients: Vec::new(),
            random: Random(1),
        };
        let start = Instant::now();
        while UnixStream::connect(&server.socket).is_err() {
            ensure!(start.elapsed() < TIMEOUT, "the server does not listen");
            thread::sleep(Duration::from_millis(5));
        }
        for _ in 0..SESSIONS {
            let session = server.new_session()?;
            server.sessions.push(session);
        }
        Ok(server)
    }

    /// One step of a random client.
    pub(super) fn step(&mut self) -> Result<()> {
        let chosen = self.random.below(SESSIONS);
        let Some(session) = self.sessions.get(chosen) else {
            bail!("there is no session {chosen}");
        };
        let id = session.id.clone();
        match self.random.below(10) {
            0 => self.connect_idle_client(&id)?,
            1 if !self.idle_clients.is_empty() => {
                let client = self.random.below(self.idle_clients.len());
                self.idle_clients.swap_remove(client);
            }
            2 => {
                self.request("GET", "/v1/sessions?limit=20", None)?;
                self.request("GET", &format!("/v1/sessions/{id}/entries?limit=20"), None)?;
            }
            _ => self.turn(chosen, &id)?,
        }
        Ok(())
    }

    /// Follows a session, prompts it, and disconnects when the run has ended.
    fn turn(&mut self, chosen: usize, id: &str) -> Result<()> {
        let mut events = self.follow(id)?;
        let command = json!({"type": "prompt", "message": "continue"});
        self.request(
            "POST",
            &format!("/v1/sessions/{id}/commands"),
            Some(&command),
        )?;
        let mut line = String::new();
        while !line.contains("\"agent_settled\"") {
            line.clear();
            ensure!(
                events.read_line(&mut line)? > 0,
                "the server closed a stream"
            );
        }
        drop(events);
        let session = self.sessions.get_mut(chosen).context("no such session")?;
        session.turns += 1;
        if session.turns == TURNS_PER_SESSION {
            self.request("DELETE", &format!("/v1/sessions/{id}"), None)?;
            let next = self.new_session()?;
            if let Some(session) = self.sessions.get_mut(chosen) {
                *session = next;
            }
        }
        Ok(())
    }

    fn connect_idle_client(&mut self, id: &str) -> Result<()> {
        if self.idle_clients.len() < MAX_IDLE_CLIENTS {
            let stream = self.follow(id)?.into_inner();
            self.idle_clients.push(stream);
        }
        Ok(())
    }

    fn follow(&self, id: &str) -> Result<BufReader<UnixStream>> {
        let mut stream = self.connect()?;
        write!(
            stream,
            "GET /v1/sessions/{id}/events?entries=20 HTTP/1.1\r\nHost: pi\r\n\r\n"
        )?;
        let mut events = BufReader::new(stream);
        let mut line = String::new();
        // Followed once the state of the session has arrived.
        while !line.starts_with("data:") {
            line.clear();
            ensure!(
                events.read_line(&mut line)? > 0,
                "the server closed a stream"
            );
        }
        Ok(events)
    }

    fn new_session(&self) -> Result<ServedSession> {
        let state = self.request("POST", "/v1/sessions", Some(&json!({})))?;
        let id = state.get("session").and_then(Value::as_str);
        let id = id.with_context(|| format!("no ID in {state}"))?.to_owned();
        Ok(ServedSession { id, turns: 0 })
    }

    fn request(&self, method: &str, path: &str, body: Option<&Value>) -> Result<Value> {
        let mut stream = self.connect()?;
        let body = body.map(Value::to_string).unwrap_or_default();
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nHost: pi\r\nConnection: close\r\nX-Pi: 1\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len(),
        )?;
        let mut response = String::new();
        stream.read_to_string(&mut response)?;
        let (head, body) = response.split_once("\r\n\r\n").context("no response")?;
        let succeeded = head
            .split(' ')
            .nth(1)
            .is_some_and(|status| status.starts_with('2'));
        ensure!(succeeded, "{method} {path} failed: {response}");
        if body.is_empty() {
            return Ok(Value::Null);
        }
        Ok(serde_json::from_str(body)?)
    }

    fn connect(&self) -> Result<UnixStream> {
        let stream = UnixStream::connect(&self.socket)?;
        stream.set_read_timeout(Some(TIMEOUT))?;
        Ok(stream)
    }

    /// Samples the server without clients: how many are connected at a step is random.
    pub(super) fn sample(&mut self) -> Result<Sample> {
        self.idle_clients.clear();
        usage::sample(self.child.id())
    }

    pub(super) fn stop(mut self) -> Result<()> {
        drop(self.idle_clients);
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }
}

/// Numbers that are the same in each run.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        // xorshift64.
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        let end = u64::try_from(end).unwrap_or(u64::MAX);
        usize::try_from(self.0 % end).unwrap_or_default()
    }
}
