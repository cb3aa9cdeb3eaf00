//! The environment variables pi reads and sets: what the help and the manual say of them.
//!
//! What a variable does is decided by the crate that reads it; keys of providers are in the provider
//! table. A test finds variables that are read and missing here.

/// A variable, as help and manual show it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Variable {
    pub(crate) name: &'static str,
    pub(crate) topic: VariableTopic,
    /// What it does, in a line.
    pub(crate) about: &'static str,
    /// Whether it is important enough for `--help`.
    pub(crate) in_help: bool,
}

/// What variables are grouped by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum VariableTopic {
    Files,
    Models,
    Network,
    Screen,
    Diagnosis,
    /// Set by pi for the commands it runs.
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

/// A variable of the help.
const fn often(topic: VariableTopic, name: &'static str, about: &'static str) -> Variable {
    Variable {
        name,
        topic,
        about,
        in_help: true,
    }
}

/// A variable of the manual alone.
const fn rarely(topic: VariableTopic, name: &'static str, about: &'static str) -> Variable {
    Variable {
        in_help: false,
        ..often(topic, name, about)
    }
}

/// Every variable, topic by topic.
#[rustfmt::skip]
pub(crate) const VARIABLES: &[Variable] = &[
    often(Files, "PI_CODING_AGENT_DIR", "Settings, credentials and sessions (~/.pi/agent)"),
    often(Files, "PI_CODING_AGENT_SESSION_DIR", "Sessions, unless --session-dir says otherwise"),
    rarely(Files, "PI_PACKAGE_DIR", "Folder of an installation; its docs/ is named to the model"),
    often(Files, "VISUAL", "The editor for long messages"),
    rarely(Files, "EDITOR", "The same, where VISUAL is not set"),

    often(Models, "LLAMA_BASE_URL", "A server of your own: llama.cpp, or one that speaks OpenAI's API"),
    often(Models, "LLAMA_API_KEY", "The key of that server, if it wants one"),
    often(Models, "PI_CACHE_RETENTION", "`long` keeps prompts cached for an hour or more"),
    rarely(Models, "PI_RADIUS_GATEWAY", "The Radius gateway to use instead of the public one"),
    rarely(Models, "PI_OAUTH_CALLBACK_HOST", "Address on which a browser sign-in is answered (127.0.0.1)"),
    rarely(Models, "KIMI_CODE_OAUTH_HOST", "Host of Kimi's sign-in"),
    rarely(Models, "KIMI_OAUTH_HOST", "Older name of KIMI_CODE_OAUTH_HOST"),
    rarely(Models, "AZURE_OPENAI_BASE_URL", "Address of Azure's Responses API"),
    rarely(Models, "AZURE_OPENAI_RESOURCE_NAME", "Azure resource, where no address is given"),
    rarely(Models, "AZURE_OPENAI_API_VERSION", "Version of Azure's API (v1)"),
    rarely(Models, "AZURE_OPENAI_DEPLOYMENT_NAME_MAP", "Azure deployments: model=deployment, parted by commas"),
    rarely(Models, "AWS_BEDROCK_SKIP_AUTH", "1 sends requests to Bedrock without a signature, for gateways"),
    rarely(Models, "AWS_BEDROCK_FORCE_CACHE", "1 sends cache points to Bedrock models not known to take them"),
    rarely(Models, "GOOGLE_CLOUD_QUOTA_PROJECT", "Project that Google bills, where it is not the credential's own"),
    rarely(Models, "CLOUDSDK_CONFIG", "Folder of gcloud's configuration"),
    rarely(Models, "GCE_METADATA_HOST", "Host and port of Google's metadata server"),
    rarely(Models, "GCE_METADATA_IP", "Address of Google's metadata server"),
    rarely(Models, "METADATA_SERVER_DETECTION", "none keeps pi from asking Google's metadata server"),

    often(Network, "PI_OFFLINE", "No network but the model's, as --offline"),
    often(Network, "PI_SKIP_VERSION_CHECK", "Do not look for a newer release"),
    often(Network, "PI_TELEMETRY", "Whether providers learn which program asks"),
    often(Network, "HTTPS_PROXY", "The proxy for https; HTTP_PROXY for http, ALL_PROXY for both"),
    rarely(Network, "HTTP_PROXY", "The proxy for http; like the others it is read in lower case too"),
    rarely(Network, "PI_SHARE_VIEWER_URL", "Page that shows sessions of /share"),
    rarely(Network, "ALL_PROXY", "The proxy where none of the two is set"),
    often(Network, "NO_PROXY", "Hosts to reach without a proxy, separated by commas"),

    rarely(Screen, "PI_HARDWARE_CURSOR", "1 shows the terminal's own cursor"),
    rarely(Screen, "PI_CLEAR_ON_SHRINK", "1 clears rows that became empty"),
    rarely(Screen, "PI_IMAGE_PROTOCOL", "kitty, iterm2 or none, whatever the terminal seems to be"),
    rarely(Screen, "PI_TRUE_COLOR", "1 or 0: whether there are 16 million colors"),
    rarely(Screen, "PI_HYPERLINKS", "1 or 0: whether links can be clicked"),
    rarely(Screen, "PI_TUI_ESC_TIMEOUT", "Milliseconds to wait for the rest of a key after Escape (10, over SSH 100)"),
    rarely(Screen, "NO_COLOR", "Set to anything: no colors"),
    rarely(Screen, "PAGER", "Shows the pages of pi docs (less)"),

    often(Diagnosis, "PI_LOG", "A file to log to"),
    often(Diagnosis, "PI_LOG_LEVEL", "How much: error, warn, info, debug or trace"),
    rarely(Diagnosis, "PI_ALLOW_DEBUGGER", "Lets debuggers attach to pi and core files be written (Linux)"),

    rarely(Commands, "PI_CODING_AGENT", "true: pi runs this command"),
    rarely(Commands, "AI_AGENT", "pi: which agent runs this command"),
    rarely(Commands, "PI_SESSION_ID", "The session; set for commands of the model, as are the next four"),
    rarely(Commands, "PI_SESSION_FILE", "Its file, if it has one"),
    rarely(Commands, "PI_PROVIDER", "The provider of the model in use"),
    rarely(Commands, "PI_MODEL", "The model in use"),
    rarely(Commands, "PI_REASONING_LEVEL", "How much it thinks"),
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::*;

    /// Read while pi is built or tested, not when it runs.
    const NO_VARIABLES: [&str; 5] = [
        // A prefix.
        "PI_",
        "PI_NPM_REGISTRY",
        "PI_RELEASE_FEED",
        "PI_RELEASE_KEY",
        "PI_UPDATE_MANUAL",
    ];

    #[test]
    fn every_variable_that_is_read_is_explained() {
        let mut read = BTreeSet::new();
        collect(&Path::new(env!("CARGO_MANIFEST_DIR")).join(".."), &mut read);
        assert!(read.contains("PI_CODING_AGENT_DIR"), "the sources are read");
        let explained: BTreeSet<String> = VARIABLES.iter().map(|it| it.name.to_owned()).collect();
        let missing: Vec<_> = read
            .difference(&explained)
            .filter(|name| !NO_VARIABLES.contains(&name.as_str()))
            .collect();
        assert!(missing.is_empty(), "no row in environment.rs: {missing:?}");
    }

    /// Finds the literals `"PI_…"` in the sources of all crates, tests aside.
    fn collect(folder: &Path, found: &mut BTreeSet<String>) {
        for entry in std::fs::read_dir(folder).unwrap() {
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
