//! `pi host`: runs a session without a terminal, after `/detach`. Not for users: pi starts it.
//!
//! The process listens like any other that runs a session. It ends when the session has been idle without a client for a
//! while: the file has everything.

use std::ffi::OsString;
use std::io::{self, IsTerminal as _, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use pi_config::AgentDir;
use pi_env::Env;
use pi_host::{
    ClientUi, Handover, Host, LiveClients, LiveDirectory, SessionChoice, SessionOptions,
    SessionRuntime, StartNotification,
};

use crate::args::{Args, PromptArgs, SessionArgs};
use crate::extension_failures::client_screen;
use crate::output::{Exit, Failure};
use crate::signals::{Signal, Signals};
use crate::startup::{extension_flags, split_options, working_directory};

/// How long an idle session without clients is kept.
const IDLE_TIME: Duration = Duration::from_mins(30);

const IDLE_CHECK: Duration = Duration::from_secs(5);

/// How long the process that ran the session may take to release it.
const RELEASE_TIME: Duration = Duration::from_secs(20);

/// How long the new process may take until it listens.
const START_TIME: Duration = Duration::from_secs(20);

/// Ends an argument on stdin.
const WORD_END: u8 = 0;

const POLL_PAUSE: Duration = Duration::from_millis(50);

/// Starts a process that continues a session, and waits until it can be attached to. `words` are the arguments that the
/// session was started with.
pub(crate) async fn start(
    file: &Path,
    id: &str,
    resumes_run: bool,
    words: &[OsString],
    env: &Env,
) -> Result<(), Failure> {
    let failed = |cause: String| {
        Failure::new(cause).hint(format!("continue the session with pi --session {id}"))
    };
    let program = std::env::current_exe()
        .map_err(|error| failed(format!("cannot find the program of pi: {error}")))?;
    let mut command = Command::new(program);
    command.arg("host").arg("--session").arg(file);
    if resumes_run {
        command.arg("--resume-run");
    }
    // Arguments may have an API key, and other users can see the command line of a process.
    command.stdin(Stdio::piped());
    command.stdout(Stdio::null());
    command.stderr(Stdio::null());
    let mut child = command
        .spawn()
        .map_err(|error| failed(format!("cannot start a background process: {error}")))?;
    send_words(&mut child, words)
        .map_err(|error| failed(format!("cannot start a background process: {error}")))?;
    let live = LiveDirectory::new(AgentDir::from_env(env).path(), env);
    let deadline = Instant::now() + START_TIME;
    while Instant::now() < deadline {
        tokio::time::sleep(POLL_PAUSE).await;
        let session = live.session(id).await;
        if session.is_some_and(|session| session.pid == Some(child.id())) {
            return Ok(());
        }
        if let Ok(Some(status)) = child.try_wait() {
            return Err(failed(format!("the background process ended: {status}")));
        }
    }
    Err(failed("the background process does not respond".to_owned()))
}

/// Sends arguments to the process that continues the session.
fn send_words(child: &mut Child, words: &[OsString]) -> io::Result<()> {
    let mut input = child.stdin.take().ok_or(io::ErrorKind::BrokenPipe)?;
    for word in words {
        input.write_all(word.as_encoded_bytes())?;
        input.write_all(&[WORD_END])?;
    }
    Ok(())
}

/// Reads the arguments that the session was started with; none from a terminal.
fn receive_words() -> io::Result<Vec<OsString>> {
    let mut input = io::stdin();
    let mut bytes = Vec::new();
    if !input.is_terminal() {
        input.read_to_end(&mut bytes)?;
    }
    Ok(parse_words(&bytes))
}

fn parse_words(bytes: &[u8]) -> Vec<OsString> {
    let Some(words) = bytes.strip_suffix(&[WORD_END]) else {
        return Vec::new();
    };
    words.split(|byte| *byte == WORD_END).map(word).collect()
}

/// Returns an argument as it was given, which need not be UTF-8.
#[cfg(unix)]
fn word(bytes: &[u8]) -> OsString {
    std::os::unix::ffi::OsStringExt::from_vec(bytes.to_vec())
}

#[cfg(not(unix))]
fn word(bytes: &[u8]) -> OsString {
    String::from_utf8_lossy(bytes).into_owned().into()
}

struct HostRequest {
    file: PathBuf,
    resumes_run: bool,
}

fn parse(words: Vec<OsString>) -> Option<HostRequest> {
    let mut words = words.into_iter();
    let mut file = None;
    let mut resumes_run = false;
    while let Some(word) = words.next() {
        match word.to_str() {
            Some("--session") => file = words.next(),
            Some("--resume-run") => resumes_run = true,
            _ => return None,
        }
    }
    Some(HostRequest {
        file: file?.into(),
        resumes_run,
    })
}

pub(crate) async fn run(words: Vec<OsString>, env: Env) -> Exit {
    let Some(request) = parse(words) else {
        return Failure::new("pi host needs --session FILE")
            .hint("use /detach in a session instead")
            .report();
    };
    // The terminal that started this process may be closed.
    #[cfg(unix)]
    if let Err(error) = rustix::process::setsid() {
        tracing::debug!(%error, "the process stays in its session");
    }
    let resumes_run = request.resumes_run;
    let mut signals = match Signals::listen() {
        Ok(signals) => signals,
        Err(error) => {
            return Failure::new(format!("cannot install signal handlers: {error}")).report();
        }
    };
    let runtime = match Box::pin(open(request, env)).await {
        Ok(runtime) => runtime,
        Err(failure) => return failure.report(),
    };
    if resumes_run && let Err(error) = Handover::of(&runtime.session()).resume().await {
        tracing::warn!(%error, "cannot continue the run");
    }
    let exit = loop {
        tokio::select! {
            () = idle_too_long(&runtime) => break Exit::Success,
            signal = signals.next() => match signal {
                Signal::HangUp => {}
                signal => break signal.exit(),
            },
        }
    };
    runtime.shutdown().await;
    exit
}

/// Opens the session once the process that ran it has released it.
async fn open(request: HostRequest, env: Env) -> Result<SessionRuntime, Failure> {
    let cwd = working_directory()?;
    let mut args = Args::parse(receive_words()?);
    args.prompt = PromptArgs::default();
    args.session = SessionArgs {
        directory: args.session.directory,
        ..SessionArgs::default()
    };
    let flags = extension_flags(&args);
    let (mut host, mut options) = split_options(args, &cwd, &env)?;
    host.live = true;
    wait_for_release(&request.file).await?;
    options.extensions.flags = flags;
    let options = SessionOptions {
        session: SessionChoice::Open(request.file),
        session_start: StartNotification::Immediate,
        ..options
    };
    let options = options.with_client_ui(ClientUi::with_screen(client_screen(&env)));
    let started = Host::new(host).start(options).await;
    started.map_err(|error| Failure::from_chain(&error))
}

async fn wait_for_release(file: &Path) -> Result<(), Failure> {
    let deadline = Instant::now() + RELEASE_TIME;
    loop {
        // The lock ends with the file.
        let lock = std::fs::File::open(file)?.try_lock();
        if !matches!(lock, Err(std::fs::TryLockError::WouldBlock)) {
            return Ok(());
        }
        if Instant::now() > deadline {
            return Err(Failure::new("the session is open in another pi"));
        }
        tokio::time::sleep(POLL_PAUSE).await;
    }
}

/// Resolves when the session has been idle without clients for a while.
async fn idle_too_long(runtime: &SessionRuntime) {
    let mut last_used = Instant::now();
    while last_used.elapsed() < IDLE_TIME {
        tokio::time::sleep(IDLE_CHECK).await;
        let session = runtime.session();
        let is_used = !session.is_idle()
            || LiveClients::of(&session).count() > 0
            || session.user_commands().is_running()
            || !session.requests().pending().is_empty();
        if is_used {
            last_used = Instant::now();
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::ffi::OsStringExt as _;

    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn arguments_arrive_as_they_were_given() {
        assert_eq!(parse_words(b""), [] as [OsString; 0]);
        assert_eq!(parse_words(b"\0"), [OsString::new()]);
        let words = ["--name".into(), OsString::from_vec(vec![b'a', 0xff])];
        assert_eq!(parse_words(b"--name\0a\xff\0"), words);
    }
}
