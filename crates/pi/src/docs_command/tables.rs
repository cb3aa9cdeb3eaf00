//! Generates the tables of the manual: flags, settings, variables, keys, commands.
//!
//! A page marks a table with `<!-- table: NAME -->` and `<!-- end of table -->`. The test fails if a table is stale;
//! `cargo xtask docs` regenerates it.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use pi_auth::KeySource;
use pi_fs::{NewFileMode, atomic_file};
use pi_protocol::settings::{SETTING_REFERENCE, SettingScope, SettingTopic};
use pi_providers::builtin_providers;
use pi_tui::{ActionDefinition, ColorToken, Platform};

use crate::args::{Flag, FlagGroup, Takes};
use crate::environment::{VARIABLES, VariableTopic};
use crate::help;

const BEGIN: &str = "<!-- table: ";
const END: &str = "<!-- end of table -->";

/// Set by `cargo xtask docs` to write the pages instead of checking them.
const UPDATE: &str = "PI_UPDATE_MANUAL";

#[test]
fn generated_tables_are_up_to_date() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let update = std::env::var_os(UPDATE).is_some();
    let mut used = Vec::new();
    let mut stale = Vec::new();
    for path in pages(&directory) {
        let text = std::fs::read_to_string(&path).unwrap();
        let expected = with_tables(&text, &mut used);
        if expected == text {
            continue;
        }
        if update {
            atomic_file::write(&path, expected.as_bytes(), NewFileMode::Default).unwrap();
        } else {
            stale.push(path);
        }
    }
    assert!(stale.is_empty(), "run `cargo xtask docs`: {stale:?}");
    for name in [
        "flags",
        "settings",
        "variables",
        "providers",
        "keys",
        "commands",
        "colors",
    ] {
        assert!(
            used.iter().any(|it| it == name),
            "no page has a table `{name}`"
        );
    }
}

fn pages(directory: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).unwrap();
    let mut pages: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    pages.retain(|path| path.extension().is_some_and(|it| it == "md"));
    pages.sort();
    pages
}

/// Returns the page with regenerated tables.
fn with_tables(text: &str, used: &mut Vec<String>) -> String {
    let mut page = String::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        page.push_str(line);
        page.push('\n');
        let name = line
            .strip_prefix(BEGIN)
            .and_then(|rest| rest.strip_suffix(" -->"));
        if let Some(name) = name {
            used.push(name.to_owned());
            page.push('\n');
            page.push_str(table(name).trim_end());
            page.push_str("\n\n");
            let end = lines.by_ref().find(|line| *line == END);
            page.push_str(end.unwrap_or_else(|| panic!("table `{name}` has no end")));
            page.push('\n');
        }
    }
    page
}

fn table(name: &str) -> String {
    match name {
        "flags" => flags(),
        "settings" => settings(),
        "variables" => variables(),
        "providers" => providers(),
        "keys" => keys(),
        "commands" => commands(),
        "colors" => colors(),
        other => panic!("unknown table `{other}`"),
    }
}

fn flags() -> String {
    let mut text = String::new();
    for group in FlagGroup::ALL {
        writeln!(
            text,
            "**{}**\n\n| Flag | Description |\n|---|---|",
            help::title(group)
        )
        .unwrap();
        for flag in Flag::of_group(group) {
            let value = match flag.takes() {
                Takes::Nothing => String::new(),
                Takes::Value(name) | Takes::Required(name) | Takes::RequiredWord(name) => {
                    format!(" {}", cell(name))
                }
                Takes::Optional(name) | Takes::OptionalWord(name, _) | Takes::Message(name) => {
                    format!(" [{name}]")
                }
            };
            let short = flag.short().map(|short| format!(", `{short}`"));
            let names = format!("`{}{value}`{}", flag.long(), short.unwrap_or_default());
            writeln!(text, "| {names} | {} |", cell(flag.about())).unwrap();
        }
        text.push('\n');
    }
    text
}

fn settings() -> String {
    let mut text = String::new();
    for topic in SettingTopic::ALL {
        writeln!(
            text,
            "**{}**\n\n| Key | Values | Default | Description |\n|---|---|---|---|",
            topic.title()
        )
        .unwrap();
        for row in SETTING_REFERENCE.iter().filter(|row| row.topic == topic) {
            let reach = match row.scope {
                SettingScope::UserAndProject => "",
                SettingScope::UserOnly => " (user settings only)",
                SettingScope::Ignored => " (used by the TypeScript pi only)",
            };
            writeln!(
                text,
                "| `{}` | {} | {} | {}{reach} |",
                row.key, row.values, row.default, row.description
            )
            .unwrap();
        }
        text.push('\n');
    }
    text
}

fn variables() -> String {
    let mut text = String::new();
    for topic in VariableTopic::ALL {
        let title = match topic {
            VariableTopic::Files => "Files",
            VariableTopic::Models => "Models and sign-in",
            VariableTopic::Network => "Network",
            VariableTopic::Screen => "Screen",
            VariableTopic::Diagnosis => "Logs",
            VariableTopic::Commands => "Set by pi for commands",
        };
        writeln!(text, "**{title}**\n\n| Variable | Description |\n|---|---|").unwrap();
        for variable in VARIABLES.iter().filter(|variable| variable.topic == topic) {
            writeln!(text, "| `{}` | {} |", variable.name, cell(variable.about)).unwrap();
        }
        text.push('\n');
    }
    text
}

fn providers() -> String {
    let mut text =
        "| ID | Provider | Environment | Sign-in | Default model |\n|---|---|---|---|---|\n"
            .to_owned();
    for provider in builtin_providers() {
        let variables = provider.key.map(|key| key_variables(key.source));
        let sign_in = if provider.has_oauth { "yes" } else { "" };
        writeln!(
            text,
            "| `{}` | {} | {} | {sign_in} | `{}` |",
            provider.id,
            provider.name,
            variables.unwrap_or_default(),
            provider.default_model
        )
        .unwrap();
    }
    text
}

fn key_variables(source: KeySource) -> String {
    let names: &[&str] = match source {
        KeySource::Variables(names) => names,
        KeySource::Anthropic => &[
            "ANTHROPIC_AUTH_TOKEN",
            "ANTHROPIC_OAUTH_TOKEN",
            "ANTHROPIC_API_KEY",
        ],
        KeySource::Bedrock => &[
            "AWS_BEARER_TOKEN_BEDROCK",
            "AWS_PROFILE",
            "AWS_ACCESS_KEY_ID",
        ],
        KeySource::Vertex => &["GOOGLE_CLOUD_API_KEY", "GOOGLE_APPLICATION_CREDENTIALS"],
        KeySource::CloudflareWorkersAi | KeySource::CloudflareAiGateway => &["CLOUDFLARE_API_KEY"],
        KeySource::Llama => &["LLAMA_BASE_URL"],
    };
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    names.join(", ")
}

fn keys() -> String {
    let mut text = String::new();
    let groups = [
        (
            "Application",
            &[
                "app.interrupt",
                "app.clear",
                "app.exit",
                "app.suspend",
                "app.thinking",
                "app.model.",
                "app.tools",
                "app.editor",
                "app.message",
                "app.clipboard",
                "app.prompt",
                "app.palette",
            ][..],
        ),
        ("Sessions", &["app.session"]),
        ("Scoped models", &["app.models"]),
        ("Session tree", &["app.tree"]),
        ("Editor", &["tui.editor", "tui.input"]),
        ("Lists and dialogs", &["tui.select"]),
        ("Full screen", &["tui.altScreen"]),
    ];
    let mut shown = 0;
    for (title, prefixes) in groups {
        writeln!(
            text,
            "**{title}**\n\n| Action | Keys | Description |\n|---|---|---|"
        )
        .unwrap();
        let actions = pi_interactive::actions()
            .filter(|action| prefixes.iter().any(|it| action.id.starts_with(it)));
        for action in actions {
            shown += 1;
            writeln!(
                text,
                "| `{}` | {} | {} |",
                action.id,
                action_keys(action),
                cell(action.description)
            )
            .unwrap();
        }
        text.push('\n');
    }
    assert_eq!(
        shown,
        pi_interactive::actions().count(),
        "every action must be in exactly one group"
    );
    text
}

fn action_keys(action: &ActionDefinition) -> String {
    let list = |keys: &[&str]| {
        if keys.is_empty() {
            return "–".to_owned();
        }
        let keys: Vec<String> = keys.iter().map(|key| format!("`{}`", cell(key))).collect();
        keys.join(" ")
    };
    let mut text = list(action.keys);
    let mut others: Vec<(String, String)> = Vec::new();
    for (platform, keys) in action.overrides {
        let platform = match platform {
            Platform::Linux => "Linux",
            Platform::MacOs => "macOS",
            Platform::Windows => "Windows",
            Platform::Wsl => "WSL",
        };
        let keys = list(keys);
        match others.iter_mut().find(|(_, known)| *known == keys) {
            Some((names, _)) => write!(names, ", {platform}").unwrap(),
            None => others.push((platform.to_owned(), keys)),
        }
    }
    for (platforms, keys) in others {
        write!(text, "; {platforms}: {keys}").unwrap();
    }
    text
}

fn commands() -> String {
    let mut text = "| Command | Description |\n|---|---|\n".to_owned();
    for command in pi_interactive::commands() {
        let argument = command
            .argument
            .map(|argument| format!(" {}", cell(argument)));
        writeln!(
            text,
            "| `/{}{}` | {} |",
            command.name,
            argument.unwrap_or_default(),
            command.description
        )
        .unwrap();
    }
    text
}

fn colors() -> String {
    let mut text = "| Token | Fallback |\n|---|---|\n".to_owned();
    for token in ColorToken::all() {
        let fallback = match token.fallback() {
            Some(other) => format!("`{}`", other.name()),
            None => "required".to_owned(),
        };
        writeln!(text, "| `{}` | {fallback} |", token.name()).unwrap();
    }
    text
}

/// Escapes the text of a table cell.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}
