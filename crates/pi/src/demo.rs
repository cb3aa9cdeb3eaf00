//! `pi --demo`: the whole program at work, without a key and without a network.
//!
//! Only the model is a script, and it says so. The loop, the tools, the files and the session are the
//! real ones, in a folder of its own that stays behind for the user to look at. Nothing of the user's
//! settings or credentials is read.

use std::fs;
use std::io::{self, IsTerminal as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context as _;
use pi_ai::{Env, Models, ModelsOptions, Registration, ThinkingLevel};
use pi_config::{Settings, SettingsStore};
use pi_runtime::{
    AgentSession, InputSource, NoExpansion, NoSessionHooks, Prompt, SessionParts,
    SystemPromptParts, Toolset, ToolsetOptions, no_model_hints,
};
use pi_session::{NewSession, Session};

use crate::output::{Exit, Failure, print};
use crate::version;

mod narrator;
mod script;

use narrator::{Ink, Narrator, Tone};

/// How fast the model speaks to a person, in tokens a second; a pipe does not wait.
const READING_SPEED: f64 = 90.0;

/// Runs the demonstration.
pub(crate) async fn run(env: &Env) -> Exit {
    let is_terminal = io::stdout().is_terminal();
    let may_color = env.var("NO_COLOR").is_none_or(|value| value.is_empty());
    let ink = if is_terminal && may_color {
        Ink::Colored
    } else {
        Ink::Plain
    };
    // Output that takes no more ends nothing: the session is still to be finished.
    let unwritten = Arc::new(AtomicBool::new(false));
    let narrator = Narrator::new(ink, {
        let unwritten = Arc::clone(&unwritten);
        Box::new(move |text| {
            if !unwritten.load(Ordering::Relaxed) && print(text) != Exit::Success {
                unwritten.store(true, Ordering::Relaxed);
            }
        })
    });
    let speed = is_terminal.then_some(READING_SPEED);
    let shown = match create_folder(&std::env::temp_dir()) {
        Ok(folder) => show(&folder, env, speed, narrator).await,
        Err(error) => Err(error),
    };
    match shown {
        Ok(()) if unwritten.load(Ordering::Relaxed) => Exit::Failure,
        Ok(()) => Exit::Success,
        Err(error) => Failure::new(format!("the demo did not finish: {error:#}")).report(),
    }
}

/// Creates a folder nobody else has.
fn create_folder(parent: &Path) -> anyhow::Result<PathBuf> {
    let mut number = 0_u32;
    loop {
        let folder = parent.join(format!("pi-demo-{}-{number}", std::process::id()));
        let mut builder = fs::DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        match builder.create(&folder) {
            Ok(()) => return Ok(folder),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number += 1,
            Err(error) => {
                return Err(error).with_context(|| format!("cannot create {}", folder.display()));
            }
        }
    }
}

/// Plays the whole piece in a folder.
async fn show(
    folder: &Path,
    env: &Env,
    speed: Option<f64>,
    narrator: Narrator,
) -> anyhow::Result<()> {
    let narrator = Arc::new(narrator);
    introduce(&narrator, folder);
    let session = session(folder, env, speed)?;
    session.set_session_name("The demo of pi").await?;
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
    let stats = session.stats()?;
    drop(subscription);
    session.dispose().await;
    let file = session.session_file().unwrap_or_default();
    conclude(&narrator, &file, stats.assistant_messages, stats.tool_calls);
    Ok(())
}

/// Builds a session of the real parts around the scripted model.
fn session(folder: &Path, env: &Env, speed: Option<f64>) -> anyhow::Result<AgentSession> {
    let project = folder.join("project");
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
        &folder.join("session.jsonl"),
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
        hooks: Arc::new(NoSessionHooks),
    };
    Ok(AgentSession::new(parts)?)
}

fn introduce(narrator: &Narrator, folder: &Path) {
    let ink = narrator.ink();
    let title = ink.paint(Tone::Strong, &format!("pi {}, the demo", version::VERSION));
    narrator.say(&format!(
        "{title}\n\
         The model is a script: its words were written in advance, and no service is asked.\n\
         Everything else is real: the loop, the tools, the files, the session.\n\
         {}",
        ink.paint(Tone::Faint, &format!("Folder: {}", folder.display()))
    ));
}

fn conclude(narrator: &Narrator, file: &Path, answers: u64, calls: u64) {
    let ink = narrator.ink();
    let command = |text: String| ink.paint(Tone::Strong, &text);
    let file = quoted(file);
    // The last of them is to see this.
    let [key, server, _demo] = no_model_hints();
    narrator.say(&format!(
        "\nThat was pi: {answers} answers and {calls} tool calls, kept in a session you can open.\n\n  \
         {}\n      goes on where this ended, with a model of yours\n  \
         {}\n      makes a web page of it\n\n\
         For a model of yours:\n  {key}\n  {server}\n\n\
         The folder stays until you remove it.",
        command(format!("pi --session {file}")),
        command(format!("pi --export {file} demo.html")),
    ));
}

/// Spells a path so that a shell reads it as one word.
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
