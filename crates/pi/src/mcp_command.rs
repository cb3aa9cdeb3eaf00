//! `pi mcp`: adds and removes MCP servers, lists them, and signs in to them.
//!
//! Loads no extensions and starts no session, so that scripts and the agent can use it.

mod accept;
mod add;
mod conform;
mod connector;
mod find;
mod import;
mod list;
mod login;
mod options;
mod remove;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use pi_config::{
    AgentDir, McpConfig, McpConfigFiles, TrustInputs, decide_trust, load_mcp_config,
    project_mcp_file,
};
use pi_env::Env;
use pi_protocol::ProjectAccess;
use pi_protocol::settings::{DotMcpJson, ProjectTrustDefault};

use crate::output::{Exit, Failure, print};
use crate::startup::working_directory;

const HELP: &str = "\
Usage:
  pi mcp add <server> [options] -- <command> [args...]
  pi mcp add <server> [options] --url <url>
  pi mcp remove <server> [-l]
  pi mcp list [--json]
  pi mcp login <server> [-l] [--timeout <seconds>]
  pi mcp logout <server> [-l]
  pi mcp accept <server> [-y]
  pi mcp serve [--sandbox [mode]] [--no-network]
  pi mcp import [claude|cursor|vscode|codex|opencode] [-l] [-y]

Manage the MCP servers in ~/.pi/agent/mcp.json and, in trusted projects, .pi/mcp.json.

Commands:
  add                      Add a server, or replace the one with this name
  remove                   Remove a server; its credentials are kept
  list                     Connect to the servers and show their state and tools
  login                    Sign in to a server in the browser
  logout                   Remove the credentials of a server
  accept                   Accept a server of .mcp.json, or what a server changed in known tools
  serve                    Offer pi as an MCP server on stdin and stdout
  import                   Add the servers that another client has configured

Options:
  -l, --local              Use the project's .pi/mcp.json
  --json                   Print the list as JSON
  -y, --yes                Accept without asking
  --timeout <seconds>      Limit for the complete sign-in (default 300)

Options of add:
  --url <url>              Address of a server with streamable HTTP
  --env <KEY=VALUE>        Set an environment variable of the command (repeatable)
  --cwd <dir>              Working directory of the command
  --header <KEY=VALUE>     Send a header (repeatable)
  --bearer-token-env-var <NAME>
                           Send the token in an environment variable
  --oauth-client-id <id>   ID of a registered OAuth client
  --oauth-client-secret <secret>
                           Its secret; ${NAME} and !command are resolved when it is used
  --oauth-callback-port <port>
                           Port of the redirect after a sign-in
  --oauth-client-name <name>
                           Name to register with
  --oauth-client-registration <auto|cimd|dcr>
                           How to get an OAuth client
  --exposure <mode>        codemode (default), deferred, direct or hidden
  --description <text>     Describe the server to the model
";

/// Where the commands work.
pub(crate) struct McpFiles {
    agent_dir: AgentDir,
    cwd: PathBuf,
    env: Env,
}

/// Runs `pi mcp …`; `words` follow `mcp`.
pub(crate) async fn run(words: Vec<OsString>, env: Env) -> Exit {
    let words = words.into_iter();
    let words: Vec<String> = words
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    let asks_for_help = words.iter().any(|word| word == "--help" || word == "-h");
    let Some((command, rest)) = words.split_first() else {
        return print(HELP);
    };
    if asks_for_help || command == "help" {
        return print(HELP);
    }
    let files = match working_directory() {
        Ok(cwd) => McpFiles {
            agent_dir: AgentDir::from_env(&env),
            cwd,
            env,
        },
        Err(failure) => return failure.report(),
    };
    let outcome = match command.as_str() {
        "add" => add::run(&files, rest),
        "remove" => remove::run(&files, rest),
        "accept" => accept::run(&files, rest).await,
        "import" => import::run(&files, rest),
        // For the official conformance suite; not in the help.
        "conform" => conform::run(&files, rest).await,
        "list" => list::run(&files, rest).await,
        "login" => login::log_in(&files, rest).await,
        "logout" => login::log_out(&files, rest).await,
        other => Err(usage(format!("unknown command \"mcp {other}\""))),
    };
    match outcome {
        Ok(exit) => exit,
        Err(failure) => failure.report(),
    }
}

fn usage(cause: impl Into<String>) -> Failure {
    Failure::new(cause).hint("run pi mcp --help for usage")
}

impl McpFiles {
    fn user_file(&self) -> PathBuf {
        self.agent_dir.mcp_file()
    }

    fn project_file(&self) -> PathBuf {
        project_mcp_file(&self.cwd)
    }

    /// Reads the servers that the user and, if it is trusted, the project configure.
    fn config(&self, project: ProjectAccess) -> McpConfig {
        load_mcp_config(McpConfigFiles {
            agent_dir: &self.agent_dir,
            cwd: &self.cwd,
            project,
            dot_mcp_json: DotMcpJson::default(),
            more: &[],
        })
    }

    fn file(&self, scope: FileScope) -> PathBuf {
        match scope {
            FileScope::User => self.user_file(),
            FileScope::Project => self.project_file(),
        }
    }

    /// Returns whether the user has trusted the project. The user cannot be asked here.
    fn project_access(&self) -> ProjectAccess {
        let home = self.env.home_dir();
        let inputs = TrustInputs {
            cwd: &self.cwd,
            home: home.as_deref(),
            agent_dir: &self.agent_dir,
            cli: None,
            default: ProjectTrustDefault::Never,
            state: &std::sync::OnceLock::new(),
        };
        decide_trust(&inputs).map_or(ProjectAccess::Denied, |decision| {
            decision.access_without_prompt()
        })
    }
}

/// The file that a command changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FileScope {
    User,
    Project,
}

impl FileScope {
    fn new(is_local: bool) -> Self {
        if is_local { Self::Project } else { Self::User }
    }

    fn name(self) -> &'static str {
        match self {
            Self::User => "global",
            Self::Project => "project",
        }
    }
}

/// Returns what to do about a project whose file is ignored.
fn untrusted_note(file: &Path) -> String {
    format!(
        "{} is ignored because the project is not trusted. Start pi in the project to trust it.",
        file.display()
    )
}
