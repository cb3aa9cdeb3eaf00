//! Descriptions of the environment variables that pi reads and sets, for the help and the manual.
//!
//! API key variables are in the provider table. A test finds variables in the code that are missing here.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Variable {
    pub(crate) name: &'static str,
    pub(crate) topic: VariableTopic,
    /// One-line description.
    pub(crate) about: &'static str,
    /// Whether `--help` lists it.
    pub(crate) in_help: bool,
}

/// A section of the manual.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum VariableTopic {
    Files,
    Models,
    Network,
    Screen,
    Diagnosis,
    /// Set by pi for commands.
    Commands,
}

impl VariableTopic {
    /// All topics, in the order of the manual.
    pub(crate) const ALL: [Self; 6] = [
        Self::Files,
        Self::Models,
        Self::Network,
        Self::Screen,
        Self::Diagnosis,
        Self::Commands,
    ];
}

use VariableTopic::{Commands, Diagnosis, Files, Models, Network, Screen};

/// A variable in the help and the manual.
const fn common(topic: VariableTopic, name: &'static str, about: &'static str) -> Variable {
    Variable {
        name,
        topic,
        about,
        in_help: true,
    }
}

/// A variable in the manual only.
const fn rare(topic: VariableTopic, name: &'static str, about: &'static str) -> Variable {
    Variable {
        in_help: false,
        ..common(topic, name, about)
    }
}

/// All variables, by topic.
#[rustfmt::skip]
pub(crate) const VARIABLES: &[Variable] = &[
    common(Files, "PI_CODING_AGENT_DIR", "Directory for settings, credentials and sessions (default ~/.pi/agent)"),
    common(Files, "PI_CODING_AGENT_SESSION_DIR", "Directory for sessions; overridden by --session-dir"),
    rare(Files, "PI_PACKAGE_DIR", "Installation directory; the system prompt refers to its docs/"),
    rare(Files, "PI_SETTINGS", "Settings as JSON that override the files for this run"),
    common(Files, "VISUAL", "External editor"),
    rare(Files, "EDITOR", "External editor if VISUAL is not set"),

    common(Models, "LLAMA_BASE_URL", "URL of a local llama.cpp or OpenAI-compatible server"),
    common(Models, "LLAMA_API_KEY", "API key for that server, if required"),
    common(Models, "PI_CACHE_RETENTION", "`long` keeps prompts cached for an hour or longer"),
    rare(Models, "PI_RADIUS_GATEWAY", "Radius gateway to use instead of the public one"),
    rare(Models, "PI_OAUTH_CALLBACK_HOST", "Address for browser sign-in callbacks (default 127.0.0.1)"),
    rare(Models, "KIMI_CODE_OAUTH_HOST", "Host for Kimi sign-in"),
    rare(Models, "KIMI_OAUTH_HOST", "Old name of KIMI_CODE_OAUTH_HOST"),
    rare(Models, "ANTHROPIC_FEDERATION_RULE_ID", "Rule for workload identity federation with Anthropic"),
    rare(Models, "ANTHROPIC_ORGANIZATION_ID", "Organization for workload identity federation"),
    rare(Models, "ANTHROPIC_IDENTITY_TOKEN_FILE", "File with the identity token of this workload"),
    rare(Models, "ANTHROPIC_SERVICE_ACCOUNT_ID", "Service account for workload identity federation, if the rule needs it"),
    rare(Models, "ANTHROPIC_WORKSPACE_ID", "Workspace for workload identity federation, if the rule needs it"),
    rare(Models, "AZURE_OPENAI_BASE_URL", "URL of the Azure Responses API"),
    rare(Models, "AZURE_OPENAI_RESOURCE_NAME", "Azure resource, if no URL is set"),
    rare(Models, "AZURE_OPENAI_API_VERSION", "Azure API version (default v1)"),
    rare(Models, "AZURE_OPENAI_DEPLOYMENT_NAME_MAP", "Azure deployments as comma-separated model=deployment pairs"),
    rare(Models, "AWS_BEDROCK_SKIP_AUTH", "1 sends unsigned requests to Bedrock, for gateways"),
    rare(Models, "AWS_BEDROCK_FORCE_CACHE", "1 sends cache points to all Bedrock models"),
    rare(Models, "GOOGLE_CLOUD_QUOTA_PROJECT", "Google billing project, if it differs from the credential's project"),
    rare(Models, "CLOUDSDK_CONFIG", "gcloud configuration directory"),
    rare(Models, "GCE_METADATA_HOST", "Host and port of the Google metadata server"),
    rare(Models, "GCE_METADATA_IP", "IP address of the Google metadata server"),
    rare(Models, "METADATA_SERVER_DETECTION", "`none` disables the Google metadata server"),
    rare(Models, "PI_CODEMODE_MAX_WORKERS", "Scripts of the codemode tool that may run at the same time (default 2)"),

    common(Network, "PI_OFFLINE", "Disable all network access except model requests, like --offline"),
    common(Network, "PI_SKIP_VERSION_CHECK", "Disable the update check"),
    rare(Network, "PI_SELF_UPDATE_COMMAND", "Command that pi update runs to update pi, split at blanks; overrides selfUpdateCommand"),
    common(Network, "PI_TELEMETRY", "Whether to send attribution headers to providers"),
    common(Network, "HTTPS_PROXY", "HTTPS proxy; HTTP_PROXY for HTTP, ALL_PROXY for both"),
    rare(Network, "HTTP_PROXY", "HTTP proxy; lowercase names work too"),
    rare(Network, "PI_SHARE_VIEWER_URL", "URL of the viewer for shared sessions"),
    rare(Network, "ALL_PROXY", "Proxy for HTTP and HTTPS if the specific variable is not set"),
    common(Network, "NO_PROXY", "Comma-separated hosts that bypass the proxy"),

    rare(Screen, "PI_HARDWARE_CURSOR", "1 shows the hardware cursor"),
    rare(Screen, "ORCA_IMAGE_PROTOCOL", "kitty shows images in Orca"),
    rare(Screen, "PI_PROGRAM_STATUS", "1 always reports the state to the terminal (OSC 7501), 0 never; by default only if the terminal supports it"),
    rare(Screen, "PI_CLEAR_ON_SHRINK", "1 clears rows that become empty"),
    rare(Screen, "PI_IMAGE_PROTOCOL", "Image protocol: kitty, iterm2 or none; overrides detection"),
    rare(Screen, "PI_TRUE_COLOR", "1 or 0: whether the terminal supports true color"),
    rare(Screen, "PI_HYPERLINKS", "1 or 0: whether the terminal supports hyperlinks"),
    rare(Screen, "PI_TUI_ESC_TIMEOUT", "Milliseconds to wait for more input after Escape (default 10, over SSH 100)"),
    rare(Screen, "NO_COLOR", "Any value disables colors"),
    rare(Screen, "PAGER", "Pager for pi docs (default less)"),

    common(Diagnosis, "PI_LOG", "Log file"),
    common(Diagnosis, "PI_LOG_LEVEL", "Log level (error, warn, info, debug, trace), or a filter by crate and span: `info,pi_providers=trace`, `[session{id=ID}]=debug`"),
    rare(Diagnosis, "PI_EXTENSION_TIMEOUT_MS", "Milliseconds that handlers of extensions have to respond (default 30000)"),
    rare(Diagnosis, "PI_TIMING", "1 writes how long the parts of the start took to stderr"),
    rare(Diagnosis, "PI_STARTUP_BENCHMARK", "1 ends the terminal application after its first frame, to measure the start"),
    rare(Diagnosis, "PI_TUI_WRITE_LOG", "File, or directory for a file per run, that receives everything written to the terminal"),
    rare(Diagnosis, "PI_ALLOW_DEBUGGER", "Allow debuggers and core files (Linux)"),

    rare(Commands, "PI_CODING_AGENT", "`true`: the command is run by pi"),
    rare(Commands, "AI_AGENT", "`pi`: the agent that runs the command"),
    rare(Commands, "PI_SESSION_ID", "Session ID; this and the next four are set for commands run by the model"),
    rare(Commands, "PI_SESSION_FILE", "Session file, if there is one"),
    rare(Commands, "PI_PROVIDER", "Provider of the current model"),
    rare(Commands, "PI_MODEL", "Current model"),
    rare(Commands, "PI_REASONING_LEVEL", "Current thinking level"),
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::*;

    /// Used when pi is built or tested, not at run time; and those of `pi-pods` and `pi fleet`, which their pages explain.
    const NO_VARIABLES: [&str; 10] = [
        // A prefix.
        "PI_",
        "PI_API_KEY",
        "PI_CONFIG_DIR",
        "PI_FLEET_CREDENTIALS",
        "PI_FLEET_ENGINE",
        // Marks the processes of a run, so that those of a killed fleet are found.
        "PI_FLEET_RUN",
        "PI_NPM_REGISTRY",
        "PI_RELEASE_FEED",
        "PI_RELEASE_KEY",
        "PI_UPDATE_MANUAL",
    ];

    #[test]
    fn every_variable_has_a_row() {
        let mut read = BTreeSet::new();
        collect(&Path::new(env!("CARGO_MANIFEST_DIR")).join(".."), &mut read);
        assert!(
            read.contains("PI_CODING_AGENT_DIR"),
            "the sources were not scanned"
        );
        let explained: BTreeSet<String> = VARIABLES.iter().map(|it| it.name.to_owned()).collect();
        let missing: Vec<_> = read
            .difference(&explained)
            .filter(|name| !NO_VARIABLES.contains(&name.as_str()))
            .collect();
        assert!(missing.is_empty(), "no row in environment.rs: {missing:?}");
    }

    /// Collects the literals `"PI_…"` in the sources of all crates, except tests.
    fn collect(directory: &Path, found: &mut BTreeSet<String>) {
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if path.is_dir()
                && !["tests", "benches", "target", "pi-test-support", "xtask"]
                    .contains(&name.as_str())
            {
                collect(&path, found);
            } else if path.extension().is_some_and(|it| it == "rs") && !name.contains("test") {
                let text = std::fs::read_to_string(&path).unwrap();
                let code = text.split("#[cfg(test)]").next().unwrap_or_default();
                let words = code.split('"').filter(|word| word.starts_with("PI_"));
                let is_name =
                    |word: &&str| word.chars().all(|it| it.is_ascii_uppercase() || it == '_');
                found.extend(words.filter(is_name).map(str::to_owned));
            }
        }
    }
}
