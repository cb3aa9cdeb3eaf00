//! The tables of the manual that are made from the code: flags, settings, variables, keys, commands.
//!
//! A page marks the place of a table with `<!-- table: NAME -->` and `<!-- end of table -->`. The test fails
//! when what stands there is not what the code says; `cargo xtask docs` writes it anew.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use pi_ai::{KeySource, builtin_providers};
use pi_config::atomic_file::{self, NewFileMode};
use pi_config::{SETTING_REFERENCE, SettingScope, SettingTopic};
use pi_tui::{ActionDefinition, ColorToken, Platform};

use crate::args::{Flag, FlagGroup, Takes};
use crate::environment::{VARIABLES, VariableTopic};
use crate::help;

const BEGIN: &str = "<!-- table: ";
const END: &str = "<!-- end of table -->";

/// Set by `cargo xtask docs`: the pages are written instead of checked.
const UPDATE: &str = "PI_UPDATE_MANUAL";

#[test]
fn tables_of_the_manual_are_those_of_the_code() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let update = std::env::var_os(UPDATE).is_some();
    let mut used = Vec::new();
    let mut stale = Vec::new();
    for path in pages(&folder) {
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
            "no page has the table `{name}`"
        );
    }
}

fn pages(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut pages: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    pages.retain(|path| path.extension().is_some_and(|it| it == "md"));
    pages.sort();
    pages
}

/// Returns a page with its tables made anew.
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
        other => panic!("there is no table `{other}`"),
    }
}

fn flags() -> String {
    let mut text = String::new();
    for group in FlagGroup::ALL {
        writeln!(text, "**{}**\n\n| Flag | |\n|---|---|", help::title(group)).unwrap();
        for flag in Flag::of_group(group) {
            let value = match flag.takes() {
                Takes::Nothing => String::new(),
                Takes::Value(name) | Takes::Required(name) | Takes::RequiredWord(name) => {
                    format!(" {}", cell(name))
                }
                Takes::Optional(name) | Takes::Message(name) => format!(" [{name}]"),
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
            "**{}**\n\n| Key | Values | Default | |\n|---|---|---|---|",
            topic.title()
        )
        .unwrap();
        for row in SETTING_REFERENCE.iter().filter(|row| row.topic == topic) {
            let reach = match row.scope {
                SettingScope::UserAndProject => "",
                SettingScope::UserOnly => " (user's file only)",
                SettingScope::Ignored => " (kept for the TypeScript pi, no effect here)",
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
            VariableTopic::Models => "Models and sign-ins",
            VariableTopic::Network => "Network",
            VariableTopic::Screen => "Screen",
            VariableTopic::Diagnosis => "Logs",
            VariableTopic::Commands => "Set by pi for the commands it runs",
        };
        writeln!(text, "**{title}**\n\n| Variable | |\n|---|---|").unwrap();
        for variable in VARIABLES.iter().filter(|variable| variable.topic == topic) {
            writeln!(text, "| `{}` | {} |", variable.name, cell(variable.about)).unwrap();
        }
        text.push('\n');
    }
    text
}

fn providers() -> String {
    let mut text =
        "| Id | Provider | Environment | Sign-in | First model |\n|---|---|---|---|---|\n"
            .to_owned();
    for provider in builtin_providers() {
        let variables = provider.key.map(|key| key_variables(key.source));
        let sign_in = if provider.signs_in { "yes" } else { "" };
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
            "In the application",
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
            ][..],
        ),
        ("Sessions and their list", &["app.session"]),
        ("List of models to cycle through", &["app.models"]),
        ("Session tree", &["app.tree"]),
        ("Editor", &["tui.editor", "tui.input"]),
        ("Lists and dialogs", &["tui.select"]),
        ("Full screen", &["tui.altScreen"]),
    ];
    let mut shown = 0;
    for (title, prefixes) in groups {
        writeln!(text, "**{title}**\n\n| Action | Keys | |\n|---|---|---|").unwrap();
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
        "every action is in one group"
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
    let mut text = "| Command | |\n|---|---|\n".to_owned();
    for command in pi_interactive::commands() {
        let argument = command
            .argument
            .map(|argument| format!(" {}", cell(argument)));
        writeln!(
            text,
            "| `/{}{}` | {} |",
            command.name,
            argument.unwrap_or_default(),
            command.about
        )
        .unwrap();
    }
    text
}

fn colors() -> String {
    let mut text = "| Token | Where it is missing |\n|---|---|\n".to_owned();
    for token in ColorToken::all() {
        let fallback = match token.fallback() {
            Some(other) => format!("`{}`", other.name()),
            None => "required".to_owned(),
        };
        writeln!(text, "| `{}` | {fallback} |", token.name()).unwrap();
    }
    text
}

/// Returns a text for a cell, where a bar would end it.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}
