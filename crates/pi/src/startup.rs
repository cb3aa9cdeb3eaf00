//! Starts a session from a command line.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use pi_config::{AgentDir, SettingsOverrides, check_restrictions};
use pi_env::Env;
use pi_host::{
    ClientUi, ExtensionFlag, ExtensionMode, ExtensionOptions, ExtensionUi, Host, HostOptions,
    ModelFlags, SessionChoice, SessionChoiceError, SessionOptions, SessionRuntime, StartError,
    StartNotification, ToolSource, TrustFlag, no_model_hints, read_attachments,
};
use pi_interactive::{ExtensionUiBridge, PiTuiToolkit, TrustPrompter};
use pi_protocol::settings::{SandboxSettings, Settings};
use pi_protocol::{ConfigDiagnostic, DiagnosticLevel};
use pi_rpc::RpcBarrier;
use pi_tools::FallbackCommands;
use pi_tui::{
    CombinedCompletionProvider, CompletionRequest, CompletionTrigger, request_suggestions,
};

use serde_json::{Map, Value};

use crate::args::{Args, ModelArgs, SessionArgs};
use crate::confirm::{Confirmation, confirm};
use crate::extension_failures::{PrintedFailures, mirrored_ui};
use crate::flag_values::NamingFlags;
use crate::mode::{Mode, Terminals};
use crate::output::{Failure, notice, warn};
use crate::package_command::StartupInstaller;
use crate::prompt_input::{Prompts, read_pipe};

/// A session and its initial prompts.
pub(crate) struct Prepared {
    pub(crate) runtime: SessionRuntime,
    pub(crate) prompts: Prompts,
}

/// Starts the session and collects the prompts. Leaves nothing running on failure.
pub(crate) async fn prepare(
    args: Args,
    mode: Mode,
    env: Env,
    extension_ui: Arc<dyn ExtensionUi>,
    (tools, barrier): (Arc<dyn ToolSource>, Option<RpcBarrier>),
) -> Result<Prepared, Failure> {
    let cwd = working_directory()?;
    let (files, messages) = (args.prompt.files.clone(), args.prompt.messages.clone());
    let flags = extension_flags(&args);
    let naming_flags = NamingFlags::new(&args.tools, &args.resources);
    let (mut host, mut options) = split_options(args, &cwd, &env)?;
    host.live = mode == Mode::Rpc;
    // One broken extension ends the program, before the others start.
    options.session_start = StartNotification::Deferred;
    options.extensions.ui = extension_ui;
    options.tool_sources.push(tools);
    // A supervisor may continue a session of another machine, whose directories have other names.
    options.cwd_override = barrier.is_some().then(|| cwd.clone());
    if let Some(barrier) = barrier {
        options.participants = Arc::new(barrier.participants());
        options.barrier = Some(Arc::new(barrier));
    }
    options.extensions.flags = flags;
    let runtime = start(&Host::new(host), options).await?;
    if matches!(mode, Mode::Print | Mode::Json) {
        naming_flags.warn_about_unknown(&runtime, &cwd, &env);
    }
    match gather(&runtime, mode, &files, messages, &cwd, &env).await {
        Ok(prompts) => {
            runtime.notify_session_start().await;
            Ok(Prepared { runtime, prompts })
        }
        Err(failure) => {
            runtime.shutdown().await;
            Err(failure)
        }
    }
}

/// Starts the session of the terminal application, which shows diagnostics itself.
pub(crate) async fn prepare_interactive(
    args: Args,
    env: Env,
    trust: TrustPrompter,
    extensions: ExtensionUiBridge,
) -> Result<Prepared, Failure> {
    let cwd = working_directory()?;
    let attached = read_attachments(&args.prompt.files, &cwd, &env).await?;
    let messages = args.prompt.messages.clone();
    let mut args = args;
    // The user chooses on the screen; until then use an in-memory session.
    args.session.selection.resume = false;
    let flags = extension_flags(&args);
    let installer = Arc::new(StartupInstaller::new(AgentDir::from_env(&env), env.clone()));
    let (mut host, mut options) = split_options(args, &cwd, &env)?;
    host.trust_prompt = Some(Arc::new(trust));
    host.packages = Some(installer.clone());
    host.live = true;
    // Extensions may open dialogs at session start, which needs a screen.
    options.session_start = StartNotification::Deferred;
    let clients = ClientUi::mirror();
    options.client_ui = Some(clients.clone());
    options.extensions.ui = Arc::new(mirrored_ui(Arc::new(extensions), clients, &env));
    options.extensions.flags = flags;
    let runtime = start(&Host::new(host), options).await?;
    installer.silence();
    if let Err(failure) = report(&extension_failures(&runtime)) {
        runtime.shutdown().await;
        return Err(failure);
    }
    let prompts = Prompts::assemble(None, &attached.text, attached.images, messages);
    Ok(Prepared { runtime, prompts })
}

/// Loads everything a session has, extensions included, for commands that only report. Nothing is stored or
/// installed.
pub(crate) async fn inspect(args: &Args, env: &Env) -> Result<SessionRuntime, Failure> {
    inspect_with_flags(args, env, Vec::new()).await
}

/// Fails if the extensions of this directory do not register an unknown flag. For commands that start sessions later: until
/// then, nothing would report a mistyped `--sandbox`.
pub(crate) async fn check_extension_flags(args: &Args, env: &Env) -> Result<(), Failure> {
    let flags = extension_flags(args);
    if flags.is_empty() {
        return Ok(());
    }
    let runtime = inspect_with_flags(args, env, flags).await?;
    let failures = extension_failures(&runtime);
    runtime.shutdown().await;
    report(&failures)
}

async fn inspect_with_flags(
    args: &Args,
    env: &Env,
    flags: Vec<ExtensionFlag>,
) -> Result<SessionRuntime, Failure> {
    let cwd = working_directory()?;
    let mut args = args.clone();
    args.session = SessionArgs::default();
    args.session.selection.no_session = true;
    args.model = ModelArgs::default();
    let (mut host, mut options) = split_options(args, &cwd, env)?;
    host.packages = None;
    options.session_start = StartNotification::Deferred;
    options.extensions.ui = Arc::new(PrintedFailures(ExtensionMode::Print));
    options.extensions.flags = flags;
    start(&Host::new(host), options).await
}

/// Returns the unknown flags, for extensions.
pub(crate) fn extension_flags(args: &Args) -> Vec<ExtensionFlag> {
    let flags = args.unknown.iter().map(|flag| ExtensionFlag {
        name: flag.name.clone(),
        value: flag.value.clone(),
        unclaimed: flag.error_message(),
    });
    flags.collect()
}

/// Returns extension load errors, and flags that no extension registers (these have no file).
fn extension_failures(runtime: &SessionRuntime) -> Vec<ConfigDiagnostic> {
    let workspace = runtime.workspace();
    let is_extension = |path: &PathBuf| {
        let mut extensions = workspace.resources.extensions.iter();
        extensions.any(|extension| extension.path == *path)
    };
    let diagnostics = runtime.diagnostics().into_iter();
    diagnostics
        .filter(|it| it.level == DiagnosticLevel::Error)
        .filter(|it| it.path.as_ref().is_none_or(is_extension))
        .collect()
}

async fn gather(
    runtime: &SessionRuntime,
    mode: Mode,
    files: &[String],
    messages: Vec<String>,
    cwd: &Path,
    env: &Env,
) -> Result<Prompts, Failure> {
    let piped = match mode {
        Mode::Print | Mode::Json if !Terminals::of_process().stdin => read_pipe().await?,
        _ => None,
    };
    let attached = read_attachments(files, cwd, env).await.map_err(|error| {
        Failure::from_chain(&error)
            .hint("@ takes a file; mention directories in the message instead")
    })?;
    if mode != Mode::Rpc {
        // An RPC client may send cheap commands first, so report this in the background.
        runtime.project_changes().await;
    }
    report(&runtime.diagnostics())?;
    let piped = piped.as_deref();
    Ok(Prompts::assemble(
        piped,
        &attached.text,
        attached.images,
        messages,
    ))
}

/// The error if no provider has a credential.
pub(crate) fn no_model() -> Failure {
    let nothing = Failure::new("no model configured: no provider has a credential");
    no_model_hints().into_iter().fold(nothing, Failure::hint)
}

pub(crate) fn working_directory() -> Result<PathBuf, Failure> {
    std::env::current_dir().map_err(|error| {
        Failure::new(format!("cannot determine the working directory: {error}"))
            .hint("change to an existing directory")
    })
}

/// Reports diagnostics; returns an error if one of them is fatal.
pub(crate) fn report(diagnostics: &[ConfigDiagnostic]) -> Result<(), Failure> {
    let mut errors = Vec::new();
    for diagnostic in diagnostics {
        let text = diagnostic.message_with_path();
        match diagnostic.level {
            DiagnosticLevel::Info => notice(&text),
            DiagnosticLevel::Warning => warn(&text),
            DiagnosticLevel::Error => errors.push(text),
        }
    }
    let mut errors = errors.into_iter();
    let Some(first) = errors.next() else {
        return Ok(());
    };
    let failure = errors.fold(Failure::new(first), |failure, further| {
        failure.hint(format!("another error: {further}"))
    });
    if diagnostics.iter().any(is_broken_extension) {
        return Err(failure.hint("use -ne to start without installed extensions"));
    }
    Err(failure)
}

fn is_broken_extension(diagnostic: &ConfigDiagnostic) -> bool {
    let is_code = |ending: &str| ["ts", "js", "mts", "mjs", "cjs"].contains(&ending);
    let ending = diagnostic.path.as_ref().and_then(|path| path.extension());
    diagnostic.level == DiagnosticLevel::Error
        && ending
            .and_then(|ending| ending.to_str())
            .is_some_and(is_code)
}

/// Returns the options for the process and for its session.
pub(crate) fn split_options(
    args: Args,
    cwd: &Path,
    env: &Env,
) -> Result<(HostOptions, SessionOptions), Failure> {
    let run_settings = run_settings(&args, env)?;
    let session = args.session.selection.choice()?.ok_or_else(|| {
        Failure::new("--resume is only available in interactive mode")
            .hint("use --continue for the latest session, or --session ID")
    })?;
    let agent_dir = AgentDir::from_env(env);
    let kit = PiTuiToolkit::new(agent_dir.clone(), env.clone());
    let extensions = ExtensionOptions {
        tui_toolkit: Some(Arc::new(kit)),
        engine: args.extension_host,
        ..ExtensionOptions::default()
    };
    let installer = StartupInstaller::new(agent_dir.clone(), env.clone());
    let host = HostOptions {
        run_settings,
        trust: args
            .trust
            .map(|is_approved| TrustFlag::new(is_approved, cwd)),
        packages: Some(Arc::new(installer)),
        offline: args.offline,
        fallback_commands: fallback_commands(&agent_dir),
        native_extensions: pi_builtins::EXTENSIONS,
        files: Some(Arc::new(|cwd, text| Box::pin(find_files(cwd, text)))),
        ..HostOptions::new(agent_dir, env.clone())
    };
    let options = SessionOptions {
        extensions,
        session,
        session_dir: args.session.directory,
        name: args.session.name,
        models: model_flags(args.model)?,
        tools: args.tools,
        resources: args.resources,
        ..SessionOptions::new(cwd)
    };
    Ok((host, options))
}

/// Finds files like the editor of the terminal does after `@`.
async fn find_files(cwd: PathBuf, query: String) -> Vec<String> {
    let provider = CombinedCompletionProvider::new(Vec::new(), cwd, None);
    let line: Arc<str> = format!("@{query}").into();
    let request = CompletionRequest {
        offset: line.len(),
        lines: vec![line],
        line: 0,
        trigger: CompletionTrigger::Typing,
    };
    let suggestions = request_suggestions(&provider, request).await;
    suggestions
        .items
        .into_iter()
        .map(|item| {
            item.value
                .trim_start_matches('@')
                .trim_matches('"')
                .to_owned()
        })
        .collect()
}

/// JSON with settings that override the files for this run; programs that embed pi set it.
const RUN_SETTINGS: &str = "PI_SETTINGS";

/// Returns the settings that flags and the environment override for this run.
pub(crate) fn run_settings(args: &Args, env: &Env) -> Result<SettingsOverrides, Failure> {
    let Some(text) = env.var(RUN_SETTINGS).filter(|text| !text.is_empty()) else {
        return Ok(args.run_settings());
    };
    let invalid = |problem: String| {
        Failure::new(format!(
            "{RUN_SETTINGS} does not contain settings: {problem}"
        ))
        .hint("set it to a JSON object like settings.json, or unset it")
    };
    let object: Map<String, Value> =
        serde_json::from_str(&text).map_err(|error| invalid(error.to_string()))?;
    check_restrictions(&object).map_err(invalid)?;
    let settings: Settings =
        serde_json::from_str(&text).map_err(|error| invalid(error.to_string()))?;
    let flags = args.screen.clone();
    Ok(SettingsOverrides::new(&Settings {
        tui_mode: flags.tui_mode.or(settings.tui_mode),
        theme: flags.theme.or_else(|| settings.theme.clone()),
        sandbox: SandboxSettings {
            mode: args.sandbox.mode.clone().or(settings.sandbox.mode),
            network: args.sandbox.network.clone().or(settings.sandbox.network),
            keep_tried: args.sandbox.keep_tried.or(settings.sandbox.keep_tried),
            ..settings.sandbox
        },
        ..settings
    }))
}

fn model_flags(args: ModelArgs) -> Result<ModelFlags, Failure> {
    if let (Some(provider), None) = (&args.provider, &args.model) {
        let failure = Failure::new("--provider requires --model");
        return Err(failure.hint(format!(
            "use --provider {provider} --model PATTERN; pi --list-models {provider} lists its models"
        )));
    }
    Ok(ModelFlags {
        provider: args.provider,
        model: args.model,
        models: args.models,
        thinking: args.thinking,
        api_key: args.api_key.map(Into::into),
    })
}

/// Starts the session. A session of another project is copied into this one if the user agrees.
async fn start(host: &Host, options: SessionOptions) -> Result<SessionRuntime, Failure> {
    let error = match host.start(options.clone()).await {
        Ok(runtime) => return Ok(runtime),
        Err(error) => error,
    };
    if let StartError::Choice(SessionChoiceError::OtherProject { path, cwd }) = &error
        && confirm_copy(cwd)
    {
        let session = SessionChoice::Fork {
            source: path.to_string_lossy().into_owned(),
            id: None,
        };
        let again = host.start(SessionOptions { session, ..options }).await;
        return again.map_err(|error| start_failure(&error));
    }
    Err(start_failure(&error))
}

fn start_failure(error: &StartError) -> Failure {
    for diagnostic in error.diagnostics() {
        warn(&diagnostic.message_with_path());
    }
    let failure = Failure::from_chain(error);
    error.hints().into_iter().fold(failure, Failure::hint)
}

/// Asks whether to copy a session of another project; without a terminal the answer is no.
fn confirm_copy(project: &str) -> bool {
    if !Terminals::of_process().are_interactive() {
        return false;
    }
    notice(&format!(
        "The session belongs to another project, {project}."
    ));
    confirm("Copy it into this project?") == Confirmation::Yes
}

/// Returns the commands that this program is in the model's shell, on machines that do not have them.
fn fallback_commands(agent_dir: &AgentDir) -> Option<Arc<FallbackCommands>> {
    let program = std::env::current_exe().ok()?;
    let names = &pi_search_commands::NAMES;
    let commands = FallbackCommands::new(names, program, agent_dir.fallback_commands());
    Some(Arc::new(commands))
}
