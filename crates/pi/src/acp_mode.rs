//! `pi acp`: serves an editor with the Agent Client Protocol on stdin and stdout.

use std::path::Path;
use std::sync::Arc;

use pi_acp::{AcpOptions, AcpTrustPrompt, serve};
use pi_env::{Env, VERSION};
use pi_host::{Host, SessionOptions, StartNotification, settings_before_trust};
use tokio_util::sync::CancellationToken;

use crate::args::Args;
use crate::output::{Exit, Failure};
use crate::own_stdio;
use crate::signals::Signals;
use crate::startup::{check_extension_flags, extension_flags, split_options, working_directory};

/// Opens the sign-in in a terminal. Clients append it to the command that they start the agent with.
pub(crate) const LOGIN: &str = "--login";

pub(crate) const HELP: &str = "\
Serve an editor with the Agent Client Protocol, on standard input and output.

Usage: pi acp [OPTIONS]

Options:
  --login  Sign in or add an API key, in a terminal

The options of pi for models, tools, extensions and the sandbox apply to every session; the editor selects
sessions and sends messages. See pi docs editors.
";

/// Serves the client until it disconnects or a signal arrives.
pub(crate) async fn run(args: Args, env: Env) -> Exit {
    own_stdio::reserve_stdout();
    own_stdio::reserve_stdin();
    let stop = CancellationToken::new();
    let started = match check(&args) {
        Ok(()) => check_extension_flags(&args, &env).await,
        failed => failed,
    };
    let started = started.and_then(|()| options(args, env, stop.clone()));
    let listening = Signals::listen()
        .map_err(|error| Failure::new(format!("cannot install signal handlers: {error}")));
    let (options, mut signals) = match started.and_then(|options| Ok((options, listening?))) {
        Ok(started) => started,
        Err(failure) => return failure.report(),
    };
    let serving = serve(options, own_stdio::async_stdin(), own_stdio::async_stdout());
    let mut serving = std::pin::pin!(serving);
    let signal = tokio::select! {
        _end = &mut serving => return Exit::Success,
        signal = signals.next() => signal,
    };
    stop.cancel();
    tokio::select! {
        _end = serving => {}
        // A second signal exits immediately.
        _second = signals.next() => {}
    }
    signal.exit()
}

/// Rejects what a client sends instead.
fn check(args: &Args) -> Result<(), Failure> {
    let session = &args.session.selection;
    let chosen = [
        ("--continue", session.continue_recent),
        ("--resume", session.resume),
        ("--session", session.session.is_some()),
        ("--session-id", session.session_id.is_some()),
        ("--fork", session.fork.is_some()),
        ("a message", !args.prompt.messages.is_empty()),
        ("an @file argument", !args.prompt.files.is_empty()),
    ];
    match chosen.iter().find(|(_, is_given)| *is_given) {
        Some((argument, _)) => Err(
            Failure::new(format!("{argument} cannot be used with pi acp"))
                .hint("the editor selects sessions and sends messages"),
        ),
        None => Ok(()),
    }
}

/// Returns the options of a client; also for those of `pi serve`.
pub(crate) fn options(
    args: Args,
    env: Env,
    stop: CancellationToken,
) -> Result<AcpOptions, Failure> {
    let cwd = working_directory()?;
    let trust = AcpTrustPrompt::default();
    let session_dir = args.session.directory.clone();
    let (mut host, _) = split_options(args.clone(), &cwd, &env)?;
    host.trust_prompt = Some(Arc::new(trust.clone()));
    host.live = true;
    let settings = settings_before_trust(&host.agent_dir, &cwd, &host.run_settings);
    let flags = extension_flags(&args);
    let sessions = move |cwd: &Path| -> Result<SessionOptions, String> {
        let options = split_options(args.clone(), cwd, &env);
        let (_, mut options) = options.map_err(|failure| failure.cause)?;
        // Extensions may ask the user at the start, which needs a session that the client knows.
        options.session_start = StartNotification::Deferred;
        options.extensions.flags.clone_from(&flags);
        Ok(options)
    };
    Ok(AcpOptions {
        host: Host::new(host),
        sessions: Box::new(sessions),
        trust,
        session_dir,
        settings: settings.acp,
        cwd,
        version: VERSION.to_owned(),
        stop,
    })
}
