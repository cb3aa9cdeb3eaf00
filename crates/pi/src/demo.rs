//! `pi --demo`: a complete run without an API key and without network access.
//!
//! Only the model is scripted, and the output says so. The loop, the tools, the files and the session are real, in a
//! temporary directory that is kept for the user. The user's settings and credentials are not read.

use std::fs;
use std::io::{self, IsTerminal as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context as _;
use pi_config::SettingsStore;
use pi_context::SystemPromptParts;
use pi_env::Env;
use pi_fs::NewFileMode;
use pi_host::{
    AgentSession, InputSource, NoExpansion, Participants, Prompt, SessionParts, Toolset,
    ToolsetOptions, no_model_hints,
};
use pi_protocol::ThinkingLevel;
use pi_protocol::settings::Settings;
use pi_providers::{Models, ModelsOptions, Registration};
use pi_session::{NewSession, Session};

use crate::args::Args;
use crate::interactive_mode;
use crate::output::{Exit, Failure, StyledText, notice, print_styled};
use narrator::{Ink, Narrator, Tone};

mod narrator;
mod script;

/// Output speed on a terminal in tokens per second; a pipe gets everything at once.
const TOKENS_PER_SECOND: f64 = 90.0;

/// Output speed in the terminal application: that of a model that a reader can follow.
const SCREEN_TOKENS_PER_SECOND: f64 = 40.0;

/// Prompts of the user that are answered after the script has ended.
const FURTHER_PROMPTS: usize = 100;

/// Prints the run as plain text.
pub(crate) async fn run(env: &Env) -> Exit {
    let is_terminal = io::stdout().is_terminal();
    let may_color = env.var("NO_COLOR").is_none_or(|value| value.is_empty());
    let ink = if is_terminal && may_color {
        Ink::Colored
    } else {
        Ink::Plain
    };
    // A closed stdout does not stop the session.
    let unwritten = Arc::new(AtomicBool::new(false));
    let narrator = Narrator::new(ink, {
        let unwritten = Arc::clone(&unwritten);
        Box::new(move |text| {
            if !unwritten.load(Ordering::Relaxed) && print_styled(StyledText(text)) != Exit::Success
            {
                unwritten.store(true, Ordering::Relaxed);
            }
        })
    });
    let speed = is_terminal.then_some(TOKENS_PER_SECOND);
    let shown = match create_directory(&std::env::temp_dir()) {
        Ok(directory) => play(&directory, env, speed, narrator).await,
        Err(error) => Err(error),
    };
    match shown {
        Ok(()) if unwritten.load(Ordering::Relaxed) => Exit::Failure,
        Ok(()) => Exit::Success,
        Err(error) => Failure::new(format!("the demo did not finish: {error:#}")).report(),
    }
}

/// Runs the script in the terminal application.
pub(crate) async fn run_on_screen(env: &Env) -> Exit {
    let prepared = create_directory(&std::env::temp_dir()).and_then(|directory| {
        let (agent, project) = (directory.join("agent"), directory.join("project"));
        pi_fs::private::create_directory(&agent)?;
        fs::create_dir(&project)?;
        let settings = agent.join("settings.json");
        pi_fs::atomic_file::write(&settings, SETTINGS.as_bytes(), NewFileMode::Private)?;
        std::env::set_current_dir(&project)?;
        Ok((directory, agent))
    });
    let (directory, agent) = match prepared {
        Ok(prepared) => prepared,
        Err(error) => {
            return Failure::new(format!("cannot start the demo: {error:#}")).report();
        }
    };
    let overrides = [
        (pi_config::env_vars::AGENT_DIR, agent.display().to_string()),
        ("PI_OFFLINE", "1".to_owned()),
    ];
    let overrides = overrides.map(|(name, value)| (name.to_owned(), value));
    let env = env.with_overrides(&overrides.into_iter().collect());
    let args = Args::parse(script::PROMPTS.map(Into::into).to_vec());
    let provider = script::model();
    provider.extend(std::iter::repeat_with(script::end).take(FURTHER_PROMPTS));
    let provider = provider
        .with_tokens_per_second(SCREEN_TOKENS_PER_SECOND)
        .with_chunk_size(2..=5);
    let model = Arc::new(provider.model());
    let registration = Registration::Provider(Arc::new(provider));
    let exit = interactive_mode::run_scripted(args, env, registration, model).await;
    if exit == Exit::Success {
        let [key, server, _demo] = no_model_hints();
        notice(&format!(
            "The model was scripted; the tools, the files and the session are real: {}\n\
             To use your own model:\n  {key}\n  {server}",
            directory.display()
        ));
    }
    exit
}

/// Settings of the demo: no header with resources, no news.
const SETTINGS: &str = r#"{"quietStartup": "header", "enableInstallTelemetry": false}"#;

/// Creates a new directory with a unique name.
fn create_directory(parent: &Path) -> anyhow::Result<PathBuf> {
    let mut number = 0_u32;
    loop {
        let directory = parent.join(format!("pi-demo-{}-{number}", std::process::id()));
        match pi_fs::private::create_new_directory(&directory) {
            Ok(()) => return Ok(directory),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number += 1,
            Err(error) => {
                return Err(error)
                    .with_context(|| format!("cannot create {}", directory.display()));
            }
        }
    }
}

/// Runs the script in a directory.
async fn play(
    directory: &Path,
    env: &Env,
    speed: Option<f64>,
    narrator: Narrator,
) -> anyhow::Result<()> {
    let narrator = Arc::new(narrator);
    introduce(&narrator, directory);
    let session = session(directory, env, speed)?;
    session.history().set_name("pi demo").await?;
    let subscription = session.subscribe(Arc::clone(&narrator) as _);
    for prompt in script::PROMPTS {
        session
            .prompt(Prompt {
                source: InputSource::Cli,
                ..Prompt::text(prompt)
            })
            .await?;
        session.wait_for_idle().await;
        if let Some(reason) = narrator.failure() {
            anyhow::bail!("{reason}");
        }
    }
    let stats = session.history().stats()?;
    drop(subscription);
    session.dispose().await;
    let file = session.session_file().unwrap_or_default();
    conclude(&narrator, &file, stats.assistant_messages, stats.tool_calls);
    Ok(())
}

/// Creates a session with the scripted model.
fn session(directory: &Path, env: &Env, speed: Option<f64>) -> anyhow::Result<AgentSession> {
    let project = directory.join("project");
    fs::create_dir(&project).with_context(|| format!("cannot create {}", project.display()))?;
    let mut provider = script::model();
    if let Some(speed) = speed {
        provider = provider
            .with_tokens_per_second(speed)
            .with_chunk_size(3..=8);
    }
    let model = Arc::new(provider.model());
    let models = Models::new(ModelsOptions {
        env: env.clone(),
        ..ModelsOptions::default()
    });
    models.register(script::PROVIDER, Registration::Provider(Arc::new(provider)))?;
    let session = Session::create_at(
        &directory.join("session.jsonl"),
        &project,
        NewSession {
            env: env.clone(),
            ..NewSession::default()
        },
    )?;
    let parts = SessionParts {
        session,
        settings: SettingsStore::in_memory(Settings::default()),
        models,
        model: Some(model),
        thinking_level: ThinkingLevel::Low,
        scoped_models: Vec::new(),
        tools: Toolset::new(ToolsetOptions::new(&project)),
        prompt: SystemPromptParts {
            cwd: project.clone(),
            ..SystemPromptParts::default()
        },
        resources: Arc::new(NoExpansion),
        cwd: project,
        env: env.clone(),
        participants: Participants::default(),
        barrier: None,
    };
    Ok(AgentSession::new(parts)?)
}

fn introduce(narrator: &Narrator, directory: &Path) {
    let ink = narrator.ink();
    let title = ink.paint(Tone::Strong, &format!("pi {} demo", pi_env::VERSION));
    narrator.print_line(&format!(
        "{title}\n\
         The model is scripted; no provider is called.\n\
         Everything else is real: the loop, the tools, the files, the session.\n\
         {}",
        ink.paint(Tone::Faint, &format!("Directory: {}", directory.display()))
    ));
}

fn conclude(narrator: &Narrator, file: &Path, answers: u64, calls: u64) {
    let ink = narrator.ink();
    let command = |text: String| ink.paint(Tone::Strong, &text);
    let file = quoted(file);
    // The third hint suggests this demo.
    let [key, server, _demo] = no_model_hints();
    narrator.print_line(&format!(
        "\nDone: {answers} answers and {calls} tool calls, stored in a session.\n\n  \
         {}\n      Resume the session with your own model\n  \
         {}\n      Export it to a web page\n\n\
         To use your own model:\n  {key}\n  {server}\n\n\
         The directory is kept until you delete it.",
        command(format!("pi --session {file}")),
        command(format!("pi --export {file} demo.html")),
    ));
}

/// Quotes a path for a shell.
fn quoted(path: &Path) -> String {
    let path = path.display().to_string();
    let is_plain = |character: char| character.is_alphanumeric() || "/._-+:@%".contains(character);
    if path.chars().all(is_plain) {
        path
    } else {
        format!("'{}'", path.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests;
