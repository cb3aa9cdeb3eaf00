//! `pi serve`: serves sessions over HTTP to browsers, scripts and other programs.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

use futures_util::future::BoxFuture;
use pi_acp::AcpOptions;
use pi_config::AgentDir;
use pi_env::{Env, VERSION};
use pi_host::{ClientUi, ExportTheme, Host, SessionOptions, settings_before_trust};
use pi_serve::{
    BoxedReader, BoxedWriter, ListenOptions, PageThemeSource, PairingOffer, ServeOptions, Server,
    terminal_qr_code,
};
use tokio_util::sync::CancellationToken;

use crate::acp_mode;
use crate::args::Args;
use crate::extension_failures::client_screen;
use crate::flag_values::check_mcp_files;
use crate::mcp_serve;
use crate::output::{Exit, Failure, StyledText, print, print_styled};
use crate::own_stdio;
use crate::report_problems;
use crate::signals::Signals;
use crate::startup::{check_extension_flags, extension_flags, split_options, working_directory};

/// The port of `--web`, unless `--port` chooses another.
const DEFAULT_PORT: u16 = 4141;

const HELP: &str = "\
Serve sessions over HTTP, to browsers and programs.

Usage: pi serve [OPTIONS]

  --web            Also listen on loopback TCP and print a URL that signs in one browser
  --port N         TCP port (default 4141); 0 selects a free one
  --host ADDR      TCP address (default 127.0.0.1)
  --allow-remote   Allow an address outside of loopback, behind a reverse proxy with TLS
  --socket PATH    Unix socket (default serve.sock in the agent directory)
  --open           Open the URL in a browser
  --pair           Print a new URL of a running server, for a further browser

Other options are those of pi, such as --model and --no-extensions; they apply to every session.
Run `pi docs server` for the routes.
";

/// What the words after `serve` ask for.
#[derive(Debug, Default, PartialEq, Eq)]
struct ServeWords {
    web: bool,
    port: Option<u16>,
    host: Option<IpAddr>,
    allow_remote: bool,
    socket: Option<PathBuf>,
    open: bool,
    pair: bool,
    help: bool,
    /// The options of sessions.
    rest: Vec<OsString>,
}

impl ServeWords {
    fn parse(words: Vec<OsString>) -> Result<Self, Failure> {
        let mut parsed = Self::default();
        let mut words = words.into_iter();
        while let Some(word) = words.next() {
            let text = word.to_str().unwrap_or_default();
            let (name, inline) = match text.split_once('=') {
                Some((name, value)) => (name, Some(OsString::from(value))),
                None => (text, None),
            };
            let mut value = |name: &str| {
                let value = inline.clone().or_else(|| words.next());
                value.ok_or_else(|| Failure::new(format!("{name} needs a value")))
            };
            match name {
                "--web" => parsed.web = true,
                "--open" => parsed.open = true,
                "--pair" => parsed.pair = true,
                "--allow-remote" => parsed.allow_remote = true,
                "--help" | "-h" => parsed.help = true,
                "--port" => parsed.port = Some(number(&value(name)?, name)?),
                "--host" => parsed.host = Some(number(&value(name)?, name)?),
                "--socket" => parsed.socket = Some(value(name)?.into()),
                _ => parsed.rest.push(word),
            }
        }
        parsed.web |= parsed.port.is_some() || parsed.host.is_some() || parsed.open;
        Ok(parsed)
    }
}

fn number<T: std::str::FromStr>(value: &OsString, name: &str) -> Result<T, Failure> {
    let parsed = value.to_str().and_then(|value| value.parse().ok());
    parsed.ok_or_else(|| {
        let value = value.to_string_lossy();
        Failure::new(format!("{name} does not accept \"{value}\""))
    })
}

/// Serves until a signal arrives. `words` follow `serve`.
pub(crate) async fn run(words: Vec<OsString>, env: Env) -> Exit {
    let words = match ServeWords::parse(words) {
        Ok(words) => words,
        Err(failure) => return failure.report(),
    };
    if words.help {
        return print(HELP);
    }
    let socket = words
        .socket
        .clone()
        .unwrap_or_else(|| AgentDir::from_env(&env).path().join("serve.sock"));
    let served = if words.pair {
        pair(&socket).await.map(|()| Exit::Success)
    } else {
        Box::pin(serve(words, socket, env)).await
    };
    served.unwrap_or_else(|failure| failure.report())
}

async fn serve(words: ServeWords, socket: PathBuf, env: Env) -> Result<Exit, Failure> {
    let mut signals = Signals::listen()
        .map_err(|error| Failure::new(format!("cannot install signal handlers: {error}")))?;
    let stop = CancellationToken::new();
    let open = words.open;
    let args = Args::parse(words.rest.clone());
    report_problems(&args)?;
    check(&args)?;
    check_extension_flags(&args, &env).await?;
    let options = options(words, args, socket.clone(), &env, stop.clone())?;
    let server = Server::bind(options).await;
    let server = server.map_err(|error| {
        let failure = Failure::new(error.to_string());
        match error.hint() {
            Some(hint) => failure.hint(hint),
            None => failure,
        }
    })?;
    let mut text = String::new();
    if cfg!(unix) {
        text = format!("Listening on {}\n", socket.display());
    }
    if let Some(address) = server.address() {
        writeln!(text, "Listening on http://{address}").unwrap_or_default();
        let offer = server.pair().map_err(|error| random_failure(&error))?;
        print(&text);
        text.clear();
        print_offer(&offer);
        if let Some(url) = offer.url.filter(|_| open) {
            pi_mcp::open_url(&url);
        }
    }
    print(&text);
    let mut serving = std::pin::pin!(server.run());
    let signal = tokio::select! {
        () = &mut serving => return Ok(Exit::Success),
        signal = signals.next() => signal,
    };
    stop.cancel();
    tokio::select! {
        () = serving => {}
        // A second signal exits immediately.
        _second = signals.next() => {}
    }
    Ok(signal.exit())
}

fn random_failure(error: &std::io::Error) -> Failure {
    Failure::new(format!("cannot create a code: {error}"))
}

/// Prints how to sign in; in a terminal also as a QR code, for the camera of a phone.
fn print_offer(offer: &PairingOffer) {
    print(&offer_text(offer));
    let url = offer.remote_url.as_deref().or(offer.url.as_deref());
    if let Some(code) = url.and_then(terminal_qr_code)
        && own_stdio::stdout_is_terminal()
    {
        print_styled(StyledText(&code));
    }
}

/// Returns the text that shows how to sign in.
fn offer_text(offer: &PairingOffer) -> String {
    let urls: Vec<&String> = offer.url.iter().chain(&offer.remote_url).collect();
    if urls.is_empty() {
        let code = &offer.code;
        return format!("Sign in within 10 minutes, once, with the code {code}\n");
    }
    let mut text = "Sign in within 10 minutes, once:\n".to_owned();
    for url in urls {
        text.push_str("  ");
        text.push_str(url);
        text.push('\n');
    }
    text
}

fn options(
    words: ServeWords,
    args: Args,
    socket: PathBuf,
    env: &Env,
    stop: CancellationToken,
) -> Result<ServeOptions, Failure> {
    let cwd = working_directory()?;
    let session_dir = args.session.directory.clone();
    let (mut host, _) = split_options(args.clone(), &cwd, env)?;
    host.live = true;
    let agent_dir = host.agent_dir.path().to_owned();
    let overrides = host.run_settings.clone();
    let settings = settings_before_trust(&host.agent_dir, &cwd, &overrides);
    let host = Host::new(host);
    let serve = &settings.serve;
    let tcp = words.web.then(|| {
        let host = words.host.unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST));
        SocketAddr::new(host, words.port.unwrap_or(DEFAULT_PORT))
    });
    let listen = ListenOptions {
        socket: cfg!(unix).then_some(socket),
        tcp,
        host_names: serve.hosts.clone().unwrap_or_default(),
        allow_remote: words.allow_remote,
    };
    let flags = extension_flags(&args);
    let (acp_args, acp_env, acp_stop) = (args.clone(), env.clone(), stop.clone());
    let acp = move |reader, writer| -> BoxFuture<'static, ()> {
        let options = acp_mode::options(acp_args.clone(), acp_env.clone(), acp_stop.child_token());
        Box::pin(serve_editor(options, reader, writer))
    };
    let mcp = mcp_serve::endpoint(host.clone(), cwd.clone(), env.clone(), words.rest);
    let session_env = env.clone();
    let sessions = move |cwd: &Path| -> Result<SessionOptions, String> {
        let options = split_options(args.clone(), cwd, &session_env);
        let (_, mut options) = options.map_err(|failure| failure.cause)?;
        options.extensions.flags.clone_from(&flags);
        options.client_ui = Some(ClientUi::with_screen(client_screen(&session_env)));
        Ok(options)
    };
    let page_theme = page_theme(&host, &cwd);
    Ok(ServeOptions {
        host,
        sessions: Box::new(sessions),
        session_dir,
        cwd,
        listen,
        credentials: agent_dir.join("serve.json"),
        page_theme: Some(page_theme),
        acp: Some(Box::new(acp)),
        mcp: Some(mcp),
        version: VERSION.to_owned(),
        idle_limit: settings.serve_idle_limit(),
        stop,
    })
}

/// Returns the theme that the settings of the user select, also after a change.
fn page_theme(host: &Host, cwd: &Path) -> PageThemeSource {
    let (agent_dir, overrides) = {
        let options = host.options();
        (options.agent_dir.clone(), options.run_settings.clone())
    };
    let cwd = cwd.to_owned();
    Box::new(move || {
        let settings = settings_before_trust(&agent_dir, &cwd, &overrides);
        let name = settings.theme.as_deref();
        let file = name
            .filter(|name| !name.contains(['/', '\\']))
            .and_then(|name| {
                let file = agent_dir.path().join("themes").join(format!("{name}.json"));
                std::fs::read_to_string(file).ok()
            });
        match file {
            Some(file) => ExportTheme::from_theme_json(&file),
            None => ExportTheme::from_setting(name, &[]),
        }
    })
}

/// Serves an editor that connects to `/acp`.
async fn serve_editor(
    options: Result<AcpOptions, Failure>,
    reader: BoxedReader,
    writer: BoxedWriter,
) {
    match options {
        Ok(options) => {
            Box::pin(pi_acp::serve(options, reader, writer)).await;
        }
        Err(failure) => tracing::warn!(cause = failure.cause, "cannot serve an editor"),
    }
}

/// Rejects what clients choose.
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
        Some((argument, _)) => Err(Failure::new(format!(
            "{argument} cannot be used with pi serve"
        ))
        .hint("clients select sessions and send messages; see pi serve --help")),
        None => check_mcp_files(&args.resources),
    }
}

/// Asks the running server for a code.
#[cfg(unix)]
async fn pair(socket: &Path) -> Result<(), Failure> {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    const REQUEST: &str = "POST /v1/pair HTTP/1.1\r\nHost: pi\r\nContent-Type: application/json\r\nX-Pi: 1\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}";
    let asking = async {
        let mut stream = tokio::net::UnixStream::connect(socket).await?;
        stream.write_all(REQUEST.as_bytes()).await?;
        let mut response = String::new();
        stream.take(64 * 1024).read_to_string(&mut response).await?;
        Ok::<_, std::io::Error>(response)
    };
    let response = asking.await.map_err(|error| {
        Failure::new(format!(
            "cannot reach pi serve: {}: {error}",
            socket.display()
        ))
        .hint("start it with: pi serve --web")
    })?;
    let body = response.split_once("\r\n\r\n").map_or("", |(_, body)| body);
    let body: serde_json::Value = serde_json::from_str(body).unwrap_or_default();
    let text = |name: &str| body.get(name).and_then(|it| it.as_str()).map(str::to_owned);
    let code = text("code").ok_or_else(|| Failure::new("pi serve did not answer with a code"))?;
    print_offer(&PairingOffer {
        code,
        url: text("url"),
        remote_url: text("remoteUrl"),
    });
    Ok(())
}

#[cfg(not(unix))]
async fn pair(_socket: &Path) -> Result<(), Failure> {
    Err(Failure::new("pi serve --pair needs a Unix socket")
        .hint("restart pi serve --web for a new URL"))
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn parse(words: &str) -> Result<ServeWords, String> {
        let words = words.split_whitespace().map(OsString::from).collect();
        ServeWords::parse(words).map_err(|failure| failure.cause)
    }

    #[test]
    fn own_options_are_separated_from_those_of_sessions() {
        let words = parse("--web --port=0 --model faux/x --socket /s -ne").unwrap();
        assert_eq!(words.port, Some(0));
        assert_eq!(words.socket, Some("/s".into()));
        assert_eq!(words.rest, ["--model", "faux/x", "-ne"]);
        assert!(words.web && parse("--host ::1").unwrap().web && !parse("").unwrap().web);
        assert_eq!(parse("--port").unwrap_err(), "--port needs a value");
        let invalid = "--host does not accept \"example.org\"";
        assert_eq!(parse("--host example.org").unwrap_err(), invalid);
    }
}
