//! Starts the bot, or reports what it would do.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use pi_config::AgentDir;
use pi_env::Env;
use pi_host::{Host, HostOptions, TrustFlag};
use pi_mom::{
    Bot, BotOptions, ChatService, EventRunner, Mattermost, MomConfig, SandboxChoice, ServiceKind,
    Slack, SlackTokens, check_sandbox, list_events,
};
use tokio_util::sync::CancellationToken;
use tracing_subscriber::EnvFilter;

use crate::arguments::RunOptions;
use crate::tokens::Tokens;

/// Levels of the log on stderr.
const LOG_LEVEL: &str = "PI_LOG_LEVEL";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Task {
    Serve,
    Check,
    Events,
}

pub(crate) fn start_log() {
    let filter = std::env::var(LOG_LEVEL).unwrap_or_else(|_unset| "error,pi_mom=info".to_owned());
    tracing_subscriber::fmt()
        .with_env_filter(EnvFilter::new(filter))
        .with_ansi(false)
        .with_writer(std::io::stderr)
        .init();
}

/// Performs a task and returns what to print.
pub(crate) async fn perform(
    task: Task,
    options: RunOptions,
    tokens: Tokens,
    env: Env,
) -> Result<String, String> {
    let workspace = workspace(&options.workspace)?;
    if task == Task::Events {
        return events(&workspace, &env);
    }
    let config = MomConfig::load(&workspace).map_err(|error| error.to_string())?;
    let agent_dir = AgentDir::from_env(&env);
    let service = service(&config, &tokens, &agent_dir, &env).await?;
    let sandboxes = sandboxes(&config, options.sandbox.as_ref());
    if task == Task::Check {
        return check(&*service, &sandboxes, &workspace, &env).await;
    }
    for sandbox in &sandboxes {
        check_sandbox(sandbox, &workspace, &env).await?;
    }
    serve(config, options, service, workspace, agent_dir, env).await
}

/// Creates the workspace and returns its real path.
fn workspace(path: &Path) -> Result<PathBuf, String> {
    let failed = |error: std::io::Error| format!("cannot use {}: {error}", path.display());
    std::fs::create_dir_all(path).map_err(failed)?;
    path.canonicalize().map_err(failed)
}

async fn service(
    config: &MomConfig,
    tokens: &Tokens,
    agent_dir: &AgentDir,
    env: &Env,
) -> Result<Arc<dyn ChatService>, String> {
    Ok(match (config.service, &config.mattermost) {
        (ServiceKind::Mattermost, Some(mattermost)) => {
            let token = tokens.get("MOM_MATTERMOST_TOKEN", agent_dir).await?;
            Arc::new(Mattermost::new(mattermost, token, env.clone()))
        }
        _ => {
            let tokens = SlackTokens {
                app: tokens.get("MOM_SLACK_APP_TOKEN", agent_dir).await?,
                bot: tokens.get("MOM_SLACK_BOT_TOKEN", agent_dir).await?,
            };
            Arc::new(Slack::new(&config.slack, tokens, env.clone()))
        }
    })
}

/// Returns the sandboxes that channels use.
fn sandboxes(config: &MomConfig, flag: Option<&SandboxChoice>) -> Vec<SandboxChoice> {
    let mut sandboxes = vec![config.sandbox_of("", flag)];
    for channel in config.overrides.keys() {
        let sandbox = config.sandbox_of(channel, flag);
        if !sandboxes.contains(&sandbox) {
            sandboxes.push(sandbox);
        }
    }
    sandboxes
}

async fn check(
    service: &dyn ChatService,
    sandboxes: &[SandboxChoice],
    workspace: &Path,
    env: &Env,
) -> Result<String, String> {
    let mut text = String::new();
    for line in service.check().await.map_err(|error| error.to_string())? {
        writeln!(text, "{line}").ok();
    }
    for sandbox in sandboxes {
        let line = check_sandbox(sandbox, workspace, env).await?;
        writeln!(text, "{line}").ok();
    }
    Ok(text)
}

fn events(workspace: &Path, env: &Env) -> Result<String, String> {
    let now = Timestamp::from_millisecond(env.now_ms()).unwrap_or(Timestamp::UNIX_EPOCH);
    let mut text = String::new();
    for listed in list_events(workspace).map_err(|error| error.to_string())? {
        let line = match &listed.event {
            Ok(event) => match event.next_run(now) {
                Some(next) => {
                    let next = next.to_zoned(TimeZone::system());
                    let next = next.strftime("%Y-%m-%d %H:%M:%S %:z");
                    format!(
                        "{next}  {}  {}  {}",
                        event.channel,
                        event.label(),
                        listed.file
                    )
                }
                None => format!(
                    "never  {}  {}  {}",
                    event.channel,
                    event.label(),
                    listed.file
                ),
            },
            Err(error) => format!("invalid  {}: {error}", listed.file),
        };
        writeln!(text, "{line}").ok();
    }
    if text.is_empty() {
        text.push_str("No events\n");
    }
    Ok(text)
}

async fn serve(
    config: MomConfig,
    options: RunOptions,
    service: Arc<dyn ChatService>,
    workspace: PathBuf,
    agent_dir: AgentDir,
    env: Env,
) -> Result<String, String> {
    let _lock = lock(&workspace)?;
    let host = Host::new(HostOptions {
        // The model writes what is in these directories.
        trust: Some(TrustFlag::Deny),
        live: true,
        ..HostOptions::new(agent_dir, env.clone())
    });
    let bot = Bot::open(BotOptions {
        service: Arc::clone(&service),
        host: host.clone(),
        config,
        workspace,
        sandbox: options.sandbox,
        env,
        zone: TimeZone::system(),
    });
    let bot = bot.map_err(|error| error.to_string())?;
    let events = EventRunner::new(Arc::clone(&bot)).map_err(|error| error.to_string())?;
    let cancel = CancellationToken::new();
    tracing::info!("connecting to {}", service.name());
    let sink: &dyn pi_mom::ChatSink = &*bot;
    tokio::select! {
        received = service.receive(sink, cancel.clone()) => {
            received.map_err(|error| error.to_string())?;
        }
        () = events.run(cancel.clone()) => {}
        never = host.keep_closing_idle(pi_mom::IDLE_SESSION) => match never {},
        ended = end_signal() => ended.map_err(|error| error.to_string())?,
    }
    Ok(String::new())
}

/// Locks the workspace: two bots would answer twice.
fn lock(workspace: &Path) -> Result<std::fs::File, String> {
    let directory = workspace.join(".pi-mom");
    let failed = |error: std::io::Error| format!("cannot lock the workspace: {error}");
    pi_fs::private::create_directory(&directory).map_err(failed)?;
    let path = directory.join("lock");
    let file = pi_fs::private::open_or_create(&path).map_err(failed)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(std::fs::TryLockError::WouldBlock) => {
            Err(format!("another pi-mom uses {}", workspace.display()))
        }
        Err(std::fs::TryLockError::Error(error)) => Err(failed(error)),
    }
}

#[cfg(unix)]
async fn end_signal() -> std::io::Result<()> {
    use tokio::signal::unix::{SignalKind, signal};

    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    Ok(())
}

#[cfg(not(unix))]
async fn end_signal() -> std::io::Result<()> {
    tokio::signal::ctrl_c().await
}
