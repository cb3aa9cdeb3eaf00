//! Interactive mode: the terminal application.

use std::sync::Arc;

use pi_config::{AgentDir, PackageChangelog, PackageLocations};
use pi_env::Env;
use pi_host::{AgentSession, Prompt, Workspace};
use pi_interactive::{
    ExitReason, ExtensionUiBridge, InteractiveOptions, StartupNotices, TrustPrompter,
};

use pi_packages::ConfiguredPackage;
use pi_protocol::ConfigScope;
use serde_json::json;

use crate::args::Args;
use crate::docs_command::joined;
use crate::manual;
use crate::output::{Exit, Failure, notice};
use crate::package_command::{installer, newer_release, used_packages};
use crate::prompt_input::Prompts;
use crate::signals::Signals;
use crate::start_timings::StartTimings;
use crate::startup::prepare_interactive;

/// Exit code after SIGTERM.
const SIGTERM_EXIT: u8 = 143;

/// Lines of a package's changelog that are shown.
const MAX_NEWS_LINES: usize = 40;

/// Runs the application until the user quits.
pub(crate) async fn run(args: Args, env: Env) -> Exit {
    let mut timings = StartTimings::begin(&env);
    let verbose = args.screen.verbose;
    let pick_session = args.session.selection.resume;
    let refresh_catalogs = !args.offline;
    let agent_dir = AgentDir::from_env(&env);
    let first_start = !agent_dir.path().exists();
    let run_settings = args.run_settings();
    let trust = TrustPrompter::new(agent_dir.clone(), env.clone(), run_settings.clone());
    let extensions = ExtensionUiBridge::new(agent_dir, env.clone(), run_settings);
    let preparing = prepare_interactive(args, env, trust.clone(), extensions.clone());
    let mut signals = match Signals::listen() {
        Ok(signals) => signals,
        Err(error) => {
            return Failure::new(format!("cannot install signal handlers: {error}")).report();
        }
    };
    let prepared = match signals.guard(Box::pin(preparing), async {}).await {
        Ok(Ok(prepared)) => prepared,
        Ok(Err(failure)) => return failure.report(),
        Err(signal) => return signal.exit(),
    };
    timings.end("session");
    timings.report();
    let runtime = prepared.runtime;
    let options = InteractiveOptions {
        prompts: prompts(prepared.prompts),
        verbose,
        pick_session,
        refresh_catalogs,
        changelog: Some(changelog),
        trust: Some(trust),
        extensions,
        first_start,
        startup_notices: Some(StartupNotices::new(startup_news(runtime.workspace()))),
    };
    match Box::pin(pi_interactive::run(runtime.clone(), options)).await {
        Ok(ExitReason::Quit) => {
            print_resume_command(&runtime.session());
            Exit::Success
        }
        Ok(ExitReason::Terminated) => Exit::Code(SIGTERM_EXIT),
        Err(error) => {
            runtime.shutdown().await;
            Failure::from_chain(&error).report()
        }
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
        .extension_changelog_versions;
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
            settings.extension_changelog_versions = found;
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
            "Resume this session: pi --session {}",
            session.session_id()
        ));
    }
}
