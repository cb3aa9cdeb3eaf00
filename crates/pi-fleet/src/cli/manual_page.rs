//! Checks that `docs/fleet.md` describes this program: its commands, options, tasks, settings, manifests and tests.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use pretty_assertions::assert_eq;
use serde_json::Value;

use super::remote::RemoteArgs;
use super::words::{FLAGS, HELP, VALUES, parse};
use crate::task::parse_tasks;

const PAGE: &str = include_str!("../../../../docs/fleet.md");

/// Options of other programs that the page mentions.
const OF_OTHERS: [&str; 7] = [
    // pi
    "--no-approve",
    "--sandbox",
    "--session",
    // docker
    "--memory",
    // cargo
    "--features",
    "--package",
    "--release",
];

/// Variables that are not defined where they are used.
const VARIABLES: [&str; 6] = [
    "HOME",
    "TMPDIR",
    "SLURM_ARRAY_TASK_ID",
    "RUNNER_TEMP",
    "NPM_TOKEN",
    "ANTHROPIC_API_KEY",
];

/// Returns the code blocks of a language.
fn blocks(language: &str) -> Vec<&'static str> {
    let blocks = PAGE.split("```").skip(1).step_by(2);
    let blocks = blocks.filter_map(|block| block.split_once('\n'));
    let wanted = blocks.filter(|(found, _)| *found == language);
    wanted.map(|(_, text)| text).collect()
}

/// Returns the shell scripts of the page, also those in manifests.
fn scripts() -> Vec<String> {
    let mut scripts: Vec<String> = blocks("sh").into_iter().map(str::to_owned).collect();
    for manifest in manifests() {
        collect_scripts(&manifest, &mut scripts);
    }
    scripts
}

fn collect_scripts(value: &Value, scripts: &mut Vec<String>) {
    match value {
        Value::String(text) if text.contains("pi fleet") => scripts.push(text.clone()),
        Value::Array(values) => {
            for value in values {
                collect_scripts(value, scripts);
            }
        }
        Value::Object(fields) => {
            for value in fields.values() {
                collect_scripts(value, scripts);
            }
        }
        _ => {}
    }
}

/// Returns the words of a line, without quotes and comments.
fn split(line: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for (index, part) in line.split(['"', '\'']).enumerate() {
        if index % 2 == 1 {
            words.push(part.to_owned());
        } else {
            words.extend(part.split_whitespace().map(str::to_owned));
        }
    }
    words
}

#[test]
fn every_command_of_the_page_is_valid() {
    let mut count = 0;
    for script in scripts() {
        for line in script.lines() {
            let Some((_, command)) = line.split_once("pi fleet ") else {
                continue;
            };
            let mut words = split(command.split(" # ").next().unwrap());
            RemoteArgs::take(&mut words).unwrap();
            parse(words).unwrap_or_else(|failure| panic!("{line}: {failure:?}"));
            count += 1;
        }
    }
    assert!(count > 25, "{count} commands");
}

#[test]
fn every_script_of_the_page_has_valid_syntax() {
    for script in scripts() {
        let mut shell = Command::new("sh");
        shell.args(["-n", "-s"]).stdin(Stdio::piped());
        let Ok(mut shell) = shell.spawn() else {
            return;
        };
        let written = shell.stdin.take().unwrap().write_all(script.as_bytes());
        written.unwrap();
        assert!(shell.wait().unwrap().success(), "{script}");
    }
}

#[test]
fn every_task_and_setting_of_the_page_is_valid() {
    let mut tasks: usize = blocks("jsonl")
        .iter()
        .map(|text| parse_tasks(text).unwrap().len())
        .sum();
    for line in scripts().iter().flat_map(|script| script.lines()) {
        if let Some((_, task)) = line.split_once("echo '{\"id\"") {
            let task = task.split_once('\'').unwrap().0;
            tasks += parse_tasks(&format!("{{\"id\"{task}")).unwrap().len();
        }
    }
    assert!(tasks >= 3, "{tasks} tasks");
    let mut count = 0;
    for text in blocks("json") {
        if !text.contains("\"fleet\"") {
            continue;
        }
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("settings.json"), text).unwrap();
        let settings = crate::settings::read(directory.path()).unwrap();
        let sources = settings.secrets.iter();
        let sources = sources.map(|(name, source)| (name.as_str(), source.as_str()));
        assert!(crate::secrets::SecretStore::new(sources, &pi_env::Env::process()).is_ok());
        assert_ne!(
            settings,
            crate::settings::FleetSettings::default(),
            "{text}"
        );
        count += 1;
    }
    assert!(count >= 3, "{count} settings");
}

#[test]
fn the_table_of_commands_is_complete() {
    // Commands are indented by two spaces, and their options follow.
    let listed = HELP.split("Options of every command").next().unwrap();
    let listed = listed.lines().filter_map(|line| {
        let line = line.strip_prefix("  ")?;
        line.starts_with(|c: char| c.is_ascii_lowercase())
            .then(|| line.split([' ', '-']).next())?
    });
    let listed: BTreeSet<&str> = listed.collect();
    let table = PAGE.split("| Command | Effect |").nth(1).unwrap();
    let table = table.split("\n\n").next().unwrap();
    let rows = table.lines().filter_map(|line| line.strip_prefix("| `"));
    let mut documented = BTreeSet::new();
    for row in rows {
        let cell = row.split(" | ").next().unwrap();
        let commands = cell.split("`, `");
        documented.extend(commands.filter_map(|command| command.split([' ', '`']).next()));
    }
    assert_eq!(documented, listed);
}

#[test]
fn every_option_of_the_page_exists() {
    let known = VALUES.iter().chain(&FLAGS).chain(&OF_OTHERS);
    let remote = ["--engine", "--fleet", "--artifacts"];
    let known: BTreeSet<&str> = known.chain(&remote).copied().collect();
    let is_option = |c: char| c.is_ascii_lowercase() || c == '-';
    // Comments of a job script are options of its scheduler.
    let lines = PAGE.lines().filter(|line| !line.starts_with("#SBATCH"));
    let words = lines.flat_map(|line| line.split([' ', '`', '"', '\'', '(', '=', ',', ';']));
    for text in words {
        let name = text.split(|c| !is_option(c)).next().unwrap_or_default();
        if name.starts_with("--") && name.len() > 2 && !name.starts_with("---") {
            assert!(known.contains(name), "{name}");
        }
    }
}

#[test]
fn variables_of_the_manifests_are_defined() {
    for script in scripts() {
        for text in script.split('$').skip(1) {
            let text = text.trim_start_matches('{');
            let is_name = |c: char| c.is_ascii_uppercase() || c == '_' || c.is_ascii_digit();
            let name = text.split(|c| !is_name(c)).next().unwrap();
            // Lower case names are of expressions that the service replaces.
            let is_defined = name.is_empty()
                || VARIABLES.contains(&name)
                || script.contains(&format!("{name}="))
                || PAGE.contains(&format!("\n          {name}: "));
            assert!(is_defined, "{name} in {script}");
        }
    }
}

#[test]
fn the_manifest_of_kubernetes_is_consistent() {
    let manifests = manifests();
    let found = manifests.iter().find(|one| one["kind"] == "Deployment");
    let spec = &found.unwrap()["spec"];
    let pod = &spec["template"]["spec"];
    assert_eq!(
        spec["selector"]["matchLabels"],
        spec["template"]["metadata"]["labels"]
    );
    let names = |values: &Value| {
        let values = values.as_array().unwrap().iter();
        let names = values.map(|value| value["name"].as_str().unwrap().to_owned());
        names.collect::<BTreeSet<_>>()
    };
    let container = &pod["containers"][0];
    assert_eq!(names(&pod["volumes"]), names(&container["volumeMounts"]));
    // The file of the user is copied to where its variable says.
    let environment = container["env"].as_array().unwrap();
    let credentials = environment
        .iter()
        .find(|one| one["name"] == crate::engine::CREDENTIALS_VARIABLE);
    let path = credentials.unwrap()["value"].as_str().unwrap();
    let command = container["command"][2].as_str().unwrap();
    assert!(command.contains(&format!(" {path} ")), "{command}");
}

#[test]
fn the_tests_that_the_page_names_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut sources = String::new();
    let mut directories = vec![root.join("src"), root.join("tests")];
    while let Some(directory) = directories.pop() {
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                directories.push(path);
            } else {
                sources += &std::fs::read_to_string(path).unwrap();
            }
        }
    }
    let table = PAGE.split("| Promise | Test |").nth(1).unwrap();
    let table = table.split("\n\n").next().unwrap();
    let mut count = 0;
    for cell in table.lines().filter_map(|line| line.rsplit(" | ").next()) {
        for name in cell.split('`').skip(1).step_by(2) {
            assert!(sources.contains(&format!("fn {name}()")), "{name}");
            count += 1;
        }
    }
    assert!(count > 40, "{count} tests");
}

/// Returns the YAML documents of the page.
fn manifests() -> Vec<Value> {
    let manifests: Vec<Value> = blocks("yaml").into_iter().map(read_yaml).collect();
    assert!(manifests.len() >= 2, "{}", manifests.len());
    manifests
}

/// Reads a document whose values are texts, lists and mappings.
fn read_yaml(text: &str) -> Value {
    use granit_parser::{Event, Parser};
    // Lists and mappings that are not complete, and the key that waits for its value.
    let mut open: Vec<(Value, Option<String>)> = Vec::new();
    let mut root = Value::Null;
    for event in Parser::new_from_str(text) {
        let (event, _) = event.unwrap_or_else(|error| panic!("{error}: {text}"));
        let value = match event {
            Event::MappingStart(..) => {
                open.push((serde_json::json!({}), None));
                continue;
            }
            Event::SequenceStart(..) => {
                open.push((serde_json::json!([]), None));
                continue;
            }
            Event::MappingEnd | Event::SequenceEnd => open.pop().unwrap().0,
            Event::Scalar(text, ..) => Value::from(text.into_owned()),
            _ => continue,
        };
        match open.last_mut() {
            None => root = value,
            Some((Value::Array(values), _)) => values.push(value),
            Some((parent, key)) => match key.take() {
                None => *key = Some(value.as_str().unwrap().to_owned()),
                Some(key) => {
                    assert!(parent.get(&key).is_none(), "two keys {key}");
                    parent[key] = value;
                }
            },
        }
    }
    root
}
