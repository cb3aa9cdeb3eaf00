//! Interactive mode: the terminal application.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use pi_config::{AgentDir, PackageChangelog, PackageLocations};
use pi_env::Env;
use pi_host::{
    AgentSession, Handover, Host, Persist, Prompt, RemoteSession, StartNotification, Workspace,
};
use pi_interactive::{
    ExitReason, ExtensionUiBridge, InteractiveOptions, StartupNotices, TrustPrompter,
};

use pi_packages::ConfiguredPackage;
use pi_protocol::{ConfigScope, Model};
use pi_providers::Registration;
use serde_json::json;

use crate::args::Args;
use crate::docs_command::joined;
use crate::host_command;
use crate::manual;
use crate::output::{Exit, Failure, notice};
use crate::package_command::{installer, newer_release, used_packages};
use crate::prompt_input::Prompts;
use crate::signals::Signals;
use crate::start_timings::{self, StartTimings};
use crate::startup::{prepare_interactive, split_options, working_directory};

/// Exit code after SIGTERM.
const SIGTERM_EXIT: u8 = 143;

/// Lines of a package's changelog that are shown.
const MAX_NEWS_LINES: usize = 40;

/// What follows when the application ends.
enum Next {
    Exit(Exit),
    /// Follow a session that another process runs.
    Attach {
        id: String,
        is_read_only: bool,
        draft: String,
    },
    /// Open a session file: the process that ran the session has ended.
    Open {
        file: PathBuf,
        draft: String,
    },
}

/// Runs the application until the user quits.
pub(crate) async fn run(args: Args, env: Env) -> Exit {
    let words = std::env::args_os().skip(1).collect();
    let first = Box::pin(run_session(args, words, String::new(), env.clone())).await;
    continue_with(first, env).await
}

/// Runs the application with a session that another process runs.
pub(crate) async fn attach(id: String, is_read_only: bool, env: Env) -> Exit {
    let draft = String::new();
    let first = Next::Attach {
        id,
        is_read_only,
        draft,
    };
    continue_with(first, env).await
}

async fn continue_with(mut next: Next, env: Env) -> Exit {
    loop {
        next = match next {
            Next::Exit(exit) => return exit,
            Next::Attach {
                id,
                is_read_only,
                draft,
            } => Box::pin(run_attached(id, is_read_only, draft, env.clone())).await,
            Next::Open { file, draft } => {
                let args = Args::parse(vec!["--session".into(), file.into()]);
                Box::pin(run_session(args, Vec::new(), draft, env.clone())).await
            }
        };
    }
}

async fn run_attached(id: String, is_read_only: bool, draft: String, env: Env) -> Next {
    let agent_dir = AgentDir::from_env(&env);
    let args = Args::parse(Vec::new());
    let extensions = ExtensionUiBridge::new(agent_dir, env.clone(), args.run_settings());
    let attaching = async {
        let cwd = working_directory()?;
        let (host, mut options) = split_options(args, &cwd, &env)?;
        options.session_start = StartNotification::Deferred;
        options.extensions.ui = Arc::new(extensions.clone());
        let remote = RemoteSession::attach(&Host::new(host), options, &id, is_read_only).await;
        remote.map_err(|error| {
            Failure::from_chain(&error).hint("run pi attach to list the sessions that are running")
        })
    };
    let remote = match Box::pin(attaching).await {
        Ok(remote) => remote,
        Err(failure) => return Next::Exit(failure.report()),
    };
    let session = remote.runtime().session();
    let options = InteractiveOptions {
        draft,
        changelog: Some(changelog),
        extensions,
        ..InteractiveOptions::default()
    };
    let ended = Box::pin(pi_interactive::run_attached(remote, options)).await;
    let ended = match ended {
        Ok(ended) => ended,
        Err(error) => return Next::Exit(Failure::from_chain(&error).report()),
    };
    let draft = ended.draft;
    match (ended.reason, session.session_file()) {
        (ExitReason::TakeOver, Some(file)) => Next::Open { file, draft },
        (ExitReason::Terminated, _) => Next::Exit(Exit::Code(SIGTERM_EXIT)),
        _ => {
            notice(&format!("Attach again: pi attach {id}"));
            Next::Exit(Exit::Success)
        }
    }
}

async fn run_session(args: Args, words: Vec<OsString>, draft: String, env: Env) -> Next {
    let mut timings = StartTimings::begin(&env);
    let verbose = args.screen.verbose;
    let pick_session = args.session.selection.resume;
    let refresh_catalogs = !args.offline;
    let agent_dir = AgentDir::from_env(&env);
    let first_start = !agent_dir.path().exists();
    let run_settings = args.run_settings();
    let trust = TrustPrompter::new(agent_dir.clone(), env.clone(), run_settings.clone());
    let extensions = ExtensionUiBridge::new(agent_dir, env.clone(), run_settings);
    let preparing = prepare_interactive(args, env.clone(), trust.clone(), extensions.clone());
    let mut signals = match Signals::listen() {
        Ok(signals) => signals,
        Err(error) => {
            let failure = Failure::new(format!("cannot install signal handlers: {error}"));
            return Next::Exit(failure.report());
        }
    };
    let prepared = match signals.guard(Box::pin(preparing), async {}).await {
        Ok(Ok(prepared)) => prepared,
        Ok(Err(failure)) => return Next::Exit(failure.report()),
        Err(signal) => return Next::Exit(signal.exit()),
    };
    timings.end("session");
    let is_benchmark = start_timings::is_benchmark(&env);
    if !is_benchmark {
        timings.report();
    }
    let runtime = prepared.runtime;
    let options = InteractiveOptions {
        prompts: prompts(prepared.prompts),
        draft,
        verbose,
        pick_session,
        refresh_catalogs,
        changelog: Some(changelog),
        trust: Some(trust),
        extensions,
        first_start,
        startup_notices: Some(StartupNotices::new(startup_news(runtime.workspace()))),
    };
    let running = Box::pin(pi_interactive::run(runtime.clone(), options));
    if is_benchmark {
        // Dropping the application restores the terminal.
        tokio::time::timeout(start_timings::BENCHMARK_TIME, running)
            .await
            .ok();
        timings.end("terminal");
        runtime.shutdown().await;
        timings.report();
        return Next::Exit(Exit::Success);
    }
    let ended = match running.await {
        Ok(ended) => ended,
        Err(error) => {
            runtime.shutdown().await;
            return Next::Exit(Failure::from_chain(&error).report());
        }
    };
    Next::Exit(match ended.reason {
        ExitReason::Quit | ExitReason::TakeOver => {
            print_resume_command(&runtime.session());
            Exit::Success
        }
        ExitReason::Attach => {
            return Next::Attach {
                id: runtime.session().session_id(),
                is_read_only: false,
                draft: ended.draft,
            };
        }
        ExitReason::Detach { was_running } => {
            Box::pin(detach(&runtime.session(), was_running, words, &env)).await
        }
        ExitReason::Terminated => Exit::Code(SIGTERM_EXIT),
    })
}

/// Runs the application with a model of the program itself.
pub(crate) async fn run_scripted(
    args: Args,
    env: Env,
    registration: Registration,
    model: Arc<Model>,
) -> Exit {
    let agent_dir = AgentDir::from_env(&env);
    let run_settings = args.run_settings();
    let trust = TrustPrompter::new(agent_dir.clone(), env.clone(), run_settings.clone());
    let extensions = ExtensionUiBridge::new(agent_dir, env.clone(), run_settings);
    let preparing = prepare_interactive(args, env, trust.clone(), extensions.clone());
    let prepared = match Box::pin(preparing).await {
        Ok(prepared) => prepared,
        Err(failure) => return failure.report(),
    };
    let runtime = prepared.runtime;
    let registered = runtime
        .workspace()
        .models
        .register(&model.provider, registration);
    if let Err(error) = registered {
        return Failure::from_chain(&error).report();
    }
    let session = runtime.session();
    if let Err(error) = session.selection().set_model(model, Persist::Session).await {
        return Failure::from_chain(&error).report();
    }
    let options = InteractiveOptions {
        prompts: prompts(prepared.prompts),
        changelog: Some(changelog),
        trust: Some(trust),
        extensions,
        ..InteractiveOptions::default()
    };
    match Box::pin(pi_interactive::run(runtime, options)).await {
        Ok(ended) if ended.reason == ExitReason::Terminated => Exit::Code(SIGTERM_EXIT),
        Ok(_) => Exit::Success,
        Err(error) => Failure::from_chain(&error).report(),
    }
}

/// Starts a background process that continues the session.
async fn detach(
    session: &AgentSession,
    was_running: bool,
    words: Vec<OsString>,
    env: &Env,
) -> Exit {
    let (id, file) = (session.session_id(), session.session_file());
    let Some(file) = file else {
        return Failure::new("the session has no file").report();
    };
    Handover::of(session).release();
    match host_command::start(&file, &id, was_running, &words, env).await {
        Ok(()) => {
            notice(&format!(
                "The session continues in the background. Attach to it: pi attach {id}"
            ));
            Exit::Success
        }
        Err(failure) => failure.report(),
    }
}

/// Returns the releases of the changelog for `/changelog`, with joined paragraphs.
fn changelog() -> String {
    let whole = manual::text("CHANGELOG");
    // Skip the introduction before the first release.
    let releases = whole.split_once("\n## ");
    joined(&releases.map_or(whole.to_owned(), |(_, text)| format!("## {text}")))
}

/// Checks for newer releases of pi and of installed packages, unless disabled.
async fn startup_news(workspace: Arc<Workspace>) -> Vec<String> {
    let mut news = Vec::new();
    let (settings, env) = (&workspace.settings, &workspace.env);
    if let Some(release) = newer_release(settings, env).await {
        news.push(format!(
            "pi {} is available. Run pi update to install it.",
            release.version
        ));
    }
    let used = used_packages(settings);
    news.extend(package_news(&workspace, &used));
    let installer = installer(&workspace.agent_dir, &workspace.cwd, env, settings);
    let outdated = installer.outdated(&used).await;
    if !outdated.is_empty() {
        let names: Vec<String> = outdated
            .iter()
            .map(|package| package.address.to_string())
            .collect();
        news.push(format!(
            "Package updates available: {}. Run pi update --extensions to install them.",
            names.join(", ")
        ));
    }
    news
}

/// Returns the changes of packages that were updated since the last start, and records their versions. Packages that are
/// seen for the first time are only recorded.
fn package_news(workspace: &Workspace, packages: &[ConfiguredPackage]) -> Vec<String> {
    let settings = &workspace.settings;
    let locations = PackageLocations {
        agent_dir: &workspace.agent_dir,
        cwd: &workspace.cwd,
        env: &workspace.env,
    };
    let seen = &settings
        .scope(ConfigScope::User)
        .extension_settings
        .changelog_versions;
    let mut found = seen.clone();
    let mut news = Vec::new();
    for package in packages {
        let path = locations.install_path(&package.address, package.scope);
        let Some(changelog) = PackageChangelog::read(&path) else {
            continue;
        };
        let source = package.address.to_string();
        let key = json!({"source": source, "scope": package.scope}).to_string();
        let changes = seen.get(&key).and_then(|last| changelog.since(last));
        if let Some(changes) = changes {
            let title = format!("{source} was updated to {}", changelog.version());
            news.push(if settings.settings().collapse_changelog() {
                title
            } else {
                let lines: Vec<&str> = changes.lines().take(MAX_NEWS_LINES).collect();
                format!("{title}\n{}", lines.join("\n"))
            });
        }
        found.insert(key, changelog.version().to_owned());
    }
    if found != *seen {
        let saved = settings.update(ConfigScope::User, |settings| {
            settings.extension_settings.changelog_versions = found;
        });
        if let Err(error) = saved {
            tracing::debug!(%error, "cannot record changelog versions");
        }
    }
    news
}

fn prompts(prompts: Prompts) -> Vec<Prompt> {
    let first = prompts.first.map(|(text, images)| Prompt {
        images,
        ..Prompt::text(text)
    });
    first
        .into_iter()
        .chain(prompts.rest.into_iter().map(Prompt::text))
        .collect()
}

/// Prints the command that resumes the session, if it was stored.
fn print_resume_command(session: &AgentSession) {
    let is_saved = session
        .history()
        .with_session(pi_session::Session::is_saved);
    if is_saved {
        notice(&format!(
            "\nResume this session: pi --session {}",
            session.session_id()
        ));
    }
}
