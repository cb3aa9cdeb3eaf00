//! Slash commands: those of extensions and resources, and built-in ones that need no terminal.

use std::sync::Arc;

use pi_host::{
    AgentSession, DialogPrompt, DialogResponse, ExtensionDialog, NavigateOptions, describe_error,
};
use pi_protocol::settings::AcpCommands;
use pi_protocol::{Command, CommandInfo, CommandSource, JsonRpcError, TrustChoice, single_line};
use serde_json::{Value, json};

use crate::backing::Backing;
use crate::config_options::model_value;
use crate::login;
use crate::permissions;
use crate::session::AcpSession;

/// User messages that a dialog offers, newest first.
const OFFERED_MESSAGES: usize = 50;

/// Names, hints and descriptions of the built-in commands.
const BUILT_IN: [(&str, &str, &str); 12] = [
    (
        "compact",
        "instructions",
        "Summarize earlier messages to free context",
    ),
    ("name", "name", "Name this session"),
    (
        "session",
        "",
        "Show the session file, messages, tokens and cost",
    ),
    ("export", "file", "Export this session as HTML"),
    ("tree", "", "Continue from an earlier message"),
    (
        "fork",
        "",
        "Continue in a new session from an earlier message",
    ),
    ("clone", "", "Continue in a copy of this session"),
    ("model", "provider/model", "List or select models"),
    ("thinking", "level", "Show or select the thinking level"),
    (
        "trust",
        "",
        "Decide whether the files of this project are used",
    ),
    ("login", "provider", "List providers, or sign in to one"),
    (
        "reload",
        "",
        "Reload settings, extensions, skills and prompts",
    ),
];

/// Returns the commands for the client.
pub(crate) fn available(backing: &Backing, offered: AcpCommands) -> Vec<Value> {
    let mut available: Vec<Value> = Vec::new();
    for (name, hint, description) in BUILT_IN {
        let mut command = json!({"name": name, "description": description});
        if let (false, Some(command)) = (hint.is_empty(), command.as_object_mut()) {
            command.insert("input".to_owned(), json!({ "hint": hint }));
        }
        available.push(command);
    }
    for command in backing.commands() {
        if is_built_in(&command.name) || !is_offered(&command, offered) {
            continue;
        }
        let description = command.description.unwrap_or_default();
        available.push(json!({
            "name": command.name,
            "description": single_line(&description, 300),
            "input": {"hint": "arguments"},
        }));
    }
    available
}

fn is_offered(command: &CommandInfo, offered: AcpCommands) -> bool {
    offered == AcpCommands::All || command.source != CommandSource::Extension
}

/// Returns the error for a command that the settings leave out.
pub(crate) fn check_offered(session: &AcpSession, text: &str) -> Result<(), JsonRpcError> {
    let Some(line) = text.trim().strip_prefix('/') else {
        return Ok(());
    };
    let name = line.split(char::is_whitespace).next().unwrap_or_default();
    let commands = session.backing.commands();
    let command = commands.iter().find(|command| command.name == name);
    if command.is_none_or(|command| is_offered(command, session.feed.offered_commands)) {
        return Ok(());
    }
    let message =
        format!("/{name} is a command of an extension; set acp.commands to \"all\" to use it");
    Err(JsonRpcError::invalid_request(message))
}

fn is_built_in(name: &str) -> bool {
    BUILT_IN.iter().any(|(known, ..)| *known == name)
}

/// Runs a built-in command and returns its text; `None` if the prompt is not one.
pub(crate) async fn run(
    session: &Arc<AcpSession>,
    text: &str,
) -> Option<Result<String, JsonRpcError>> {
    let line = text.trim().strip_prefix('/')?;
    let (name, arguments) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    if !is_built_in(name) {
        return None;
    }
    let arguments = arguments.trim();
    let outcome = match name {
        "compact" => compact(session, arguments).await,
        "name" => set_name(session, arguments).await,
        "session" => describe(&session.session()),
        "export" => export(session, arguments).await,
        "tree" => move_in_tree(session).await,
        "fork" => fork(session).await,
        "clone" => replace(session, Command::Clone).await,
        "model" => select_model(session, arguments).await,
        "thinking" => select_thinking(session, arguments).await,
        "trust" => change_trust(session).await,
        "login" => login::run(session, arguments).await,
        _ => reload(session).await,
    };
    Some(outcome)
}

async fn submit(session: &AcpSession, command: Command) -> Result<Value, JsonRpcError> {
    session.backing.submit(command).await
}

async fn compact(session: &AcpSession, instructions: &str) -> Result<String, JsonRpcError> {
    if instructions == "undo" {
        submit(session, Command::UndoCompaction).await?;
        return Ok("Undid the compaction.".to_owned());
    }
    if let Some(rest) = instructions.strip_prefix("--preview") {
        let focus = Some(rest.trim()).filter(|rest| !rest.is_empty());
        let command = Command::Compact {
            custom_instructions: focus.map(str::to_owned),
            preview: true,
        };
        let preview = submit(session, command).await?;
        let preview = serde_json::from_value(preview)
            .map_err(|error| JsonRpcError::internal(error.to_string()))?;
        return Ok(pi_host::preview_text(&preview));
    }
    let custom_instructions = (!instructions.is_empty()).then(|| instructions.to_owned());
    let command = Command::Compact {
        custom_instructions,
        preview: false,
    };
    let result = submit(session, command).await?;
    let before = result.get("tokensBefore").and_then(Value::as_u64);
    Ok(before.map_or_else(
        || "Compacted the conversation.".to_owned(),
        |tokens| format!("Compacted the conversation; it had {tokens} tokens."),
    ))
}

async fn set_name(session: &AcpSession, name: &str) -> Result<String, JsonRpcError> {
    if name.is_empty() {
        let current = session.session().session_name();
        return Ok(current.map_or_else(
            || "This session has no name. Use /name NAME.".to_owned(),
            |name| format!("Name: {name}"),
        ));
    }
    let command = Command::SetSessionName {
        name: name.to_owned(),
    };
    submit(session, command).await?;
    Ok(format!("Named this session {name}."))
}

fn describe(session: &AgentSession) -> Result<String, JsonRpcError> {
    let stats = session.history().stats();
    let stats = stats.map_err(|error| JsonRpcError::internal(error.to_string()))?;
    let file = stats
        .session_file
        .map_or_else(|| "in memory".to_owned(), |file| file.display().to_string());
    let mut lines = vec![
        format!("- Session: `{}`", stats.session_id),
        format!("- File: `{file}`"),
        format!(
            "- Messages: {} (user {}, assistant {}, tool calls {})",
            stats.total_messages, stats.user_messages, stats.assistant_messages, stats.tool_calls
        ),
        format!(
            "- Tokens: {} (input {}, output {}, cache read {}, cache write {})",
            stats.tokens.total,
            stats.tokens.input,
            stats.tokens.output,
            stats.tokens.cache_read,
            stats.tokens.cache_write
        ),
        format!("- Cost: ${:.4}", stats.cost),
    ];
    if let Some(name) = session.session_name() {
        lines.insert(0, format!("- Name: {name}"));
    }
    if let Some(model) = session.selection().model() {
        lines.push(format!("- Model: {}", model_value(&model)));
    }
    Ok(lines.join("\n"))
}

async fn export(session: &AcpSession, output: &str) -> Result<String, JsonRpcError> {
    let output_path = (!output.is_empty()).then(|| output.to_owned());
    let result = submit(session, Command::ExportHtml { output_path }).await?;
    let path = result.get("path").and_then(Value::as_str);
    Ok(format!("Exported to {}", path.unwrap_or_default()))
}

/// Lets the user choose an option; `None` if the dialog was canceled.
async fn choose(session: &AcpSession, title: String, options: Vec<String>) -> Option<usize> {
    let dialog = ExtensionDialog {
        id: uuid::Uuid::new_v4().to_string(),
        prompt: DialogPrompt::Select {
            title,
            options: options.clone(),
        },
        timeout: None,
    };
    match permissions::show_dialog(&session.feed, dialog).await {
        DialogResponse::Text(chosen) => options.iter().position(|option| *option == chosen),
        DialogResponse::Confirmed(_) | DialogResponse::Cancelled => None,
    }
}

/// Lets the user choose one of the user messages; `None` if the dialog was canceled.
async fn choose_message(session: &AcpSession, title: &str) -> Result<Option<String>, JsonRpcError> {
    let agent_session = session.session();
    let messages = agent_session.history().messages_for_forking();
    let messages = messages.map_err(|error| JsonRpcError::internal(error.to_string()))?;
    if messages.is_empty() {
        return Err(JsonRpcError::invalid_request(
            "this session has no messages yet",
        ));
    }
    let newest = messages.iter().rev().take(OFFERED_MESSAGES).enumerate();
    let options = newest
        .map(|(index, message)| format!("{}. {}", index + 1, single_line(&message.text, 100)))
        .collect();
    let position = choose(session, title.to_owned(), options).await;
    let message = position.and_then(|position| messages.iter().rev().nth(position));
    Ok(message.map(|message| message.entry_id.as_str().to_owned()))
}

const CANCELED: &str = "Canceled.";

async fn move_in_tree(session: &AcpSession) -> Result<String, JsonRpcError> {
    session.backing.own_runtime()?;
    let Some(entry) = choose_message(session, "Continue before which message?").await? else {
        return Ok(CANCELED.to_owned());
    };
    let agent_session = session.session();
    let moved = agent_session
        .navigation()
        .navigate(&entry.as_str().into(), NavigateOptions::default())
        .await;
    let moved = moved.map_err(|error| JsonRpcError::invalid_request(error.to_string()))?;
    if moved.cancelled || moved.aborted {
        return Ok(CANCELED.to_owned());
    }
    session.feed.send_usage().await;
    let text = moved.editor_text.unwrap_or_default();
    Ok(format!(
        "The conversation continues before this message; what followed stays in another branch:\n\n> {}",
        text.replace('\n', "\n> ")
    ))
}

async fn fork(session: &AcpSession) -> Result<String, JsonRpcError> {
    match choose_message(session, "Fork before which message?").await? {
        Some(entry_id) => replace(session, Command::Fork { entry_id }).await,
        None => Ok(CANCELED.to_owned()),
    }
}

/// Replaces the session behind this thread.
async fn replace(session: &AcpSession, command: Command) -> Result<String, JsonRpcError> {
    session.backing.own_runtime()?;
    let replaced = submit(session, command).await?;
    if replaced.get("cancelled").and_then(Value::as_bool) == Some(true) {
        return Ok(CANCELED.to_owned());
    }
    let id = session.session().session_id();
    Ok(format!(
        "This thread continues in session `{id}`. The session list shows it; the earlier session is unchanged."
    ))
}

async fn select_model(session: &AcpSession, wanted: &str) -> Result<String, JsonRpcError> {
    let agent_session = session.session();
    let available = agent_session.models().available();
    if wanted.is_empty() {
        let names = available
            .iter()
            .map(|model| format!("- {}", model_value(model)));
        let names = names.collect::<Vec<_>>().join("\n");
        let current = agent_session.selection().model();
        let current = current.map_or_else(|| "none".to_owned(), |model| model_value(&model));
        return Ok(format!("Model: {current}\n\n{names}"));
    }
    let exact = available
        .iter()
        .find(|model| model_value(model) == wanted || model.id == wanted);
    let wanted_lower = wanted.to_lowercase();
    let is_like = |value: String| value.to_lowercase().contains(&wanted_lower);
    let found = exact.or_else(|| available.iter().find(|model| is_like(model_value(model))));
    let model = found.ok_or_else(|| {
        JsonRpcError::invalid_request(format!("no model matches \"{wanted}\"; /model lists them"))
    })?;
    let command = Command::SetModel {
        provider: model.provider.clone(),
        model_id: model.id.clone(),
    };
    submit(session, command).await?;
    Ok(format!("Model: {}", model_value(model)))
}

async fn select_thinking(session: &AcpSession, wanted: &str) -> Result<String, JsonRpcError> {
    let agent_session = session.session();
    let selection = agent_session.selection();
    let levels = selection.available_thinking_levels();
    let names: Vec<&str> = levels.iter().map(|level| level.as_str()).collect();
    if wanted.is_empty() {
        let current = selection.thinking_level().as_str();
        return Ok(format!("Thinking: {current} (of {})", names.join(", ")));
    }
    if !names.contains(&wanted) {
        let message = format!(
            "unknown thinking level \"{wanted}\"; use {}",
            names.join(", ")
        );
        return Err(JsonRpcError::invalid_request(message));
    }
    let command = Command::SetThinkingLevel {
        level: wanted.to_owned(),
    };
    submit(session, command).await?;
    Ok(format!("Thinking: {wanted}"))
}

/// Shows the decision about the project, and saves another one.
async fn change_trust(session: &AcpSession) -> Result<String, JsonRpcError> {
    let workspace = session.backing.own_runtime()?.workspace();
    let failed = |error| JsonRpcError::internal(describe_error(&error));
    let state = workspace.trust_state().map_err(failed)?;
    let decision = match &state.saved {
        Some(saved) if saved.access.is_trusted() => {
            format!("{} is trusted.", saved.dir.display())
        }
        Some(saved) => format!("{} is not trusted.", saved.dir.display()),
        None => "No saved decision for this directory.".to_owned(),
    };
    let use_of_files = if workspace.project.is_trusted() {
        "used"
    } else {
        "ignored"
    };
    let title = format!("{decision} Project files are {use_of_files} in this session.");
    let labels = state.choices.iter().map(TrustChoice::label).collect();
    let chosen = choose(session, title.clone(), labels).await;
    let Some(choice) = chosen.and_then(|index| state.choices.get(index)) else {
        return Ok(format!("{title}\n\n{CANCELED}"));
    };
    workspace.save_trust(choice).map_err(failed)?;
    Ok("Saved. Use /reload to apply.".to_owned())
}

async fn reload(session: &AcpSession) -> Result<String, JsonRpcError> {
    let reloaded = session.backing.own_runtime()?.reload().await;
    reloaded.map_err(|error| JsonRpcError::invalid_request(error.to_string()))?;
    session.feed.send(session.commands()).await;
    Ok("Reloaded settings, extensions, skills and prompts.".to_owned())
}
