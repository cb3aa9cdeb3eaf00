//! Agents: Markdown files that describe how sub-agents work.
//!
//! The directories of pi come before those of Claude Code, and those of a project before those of the user. An agent
//! hides one with the same name in a later directory.

use std::path::{Path, PathBuf};

use pi_protocol::{ConfigDiagnostic, ThinkingLevel};

use super::front_matter::{FrontMatter, normalize_line_endings, split};
use super::named_set::NamedSet;
use super::walk::Walk;
use crate::regular_file::{MAX_BYTES, read_prose};

const MAX_NAME_LENGTH: usize = 64;

/// Tools of Claude Code with other names in pi. The rest differs only in case.
const IMPORTED_TOOLS: [(&str, &str); 4] = [
    ("MultiEdit", "edit"),
    ("Glob", "find"),
    ("LS", "ls"),
    ("Agent", "task"),
];

/// An agent that a session may delegate work to.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AgentFile {
    pub name: String,
    /// When to use the agent, for the model.
    pub description: String,
    /// Names and patterns of its tools; those of its parent if absent.
    pub tools: Option<Vec<String>>,
    /// Pattern of its model; that of its parent if absent.
    pub model: Option<String>,
    pub thinking: Option<ThinkingLevel>,
    /// Names and patterns of the agents that it may delegate work to.
    pub agents: Vec<String>,
    /// Its instructions.
    pub prompt: String,
    pub path: PathBuf,
    pub source: AgentSource,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AgentSource {
    #[default]
    User,
    Project,
    /// A file for Claude Code, whose models may not exist here.
    Imported,
}

/// Where agents are searched for.
#[derive(Debug, Clone)]
pub struct AgentDirectories(Vec<(PathBuf, AgentSource)>);

impl AgentDirectories {
    /// Returns the directories of a user. `project` has a value if the files of that project may be used.
    pub fn new(agent_dir: &Path, home: Option<&Path>, project: Option<&Path>) -> Self {
        let imported = |root: &Path| (root.join(".claude/agents"), AgentSource::Imported);
        let mut directories = Vec::new();
        if let Some(project) = project {
            directories.push((project.join(".pi/agents"), AgentSource::Project));
            directories.push(imported(project));
        }
        directories.push((agent_dir.join("agents"), AgentSource::User));
        directories.extend(home.map(imported));
        Self(directories)
    }
}

/// Loads the agents, sorted by name. A file that cannot be used is reported and skipped.
pub fn load_agents(directories: &AgentDirectories) -> (Vec<AgentFile>, Vec<ConfigDiagnostic>) {
    let mut agents: Vec<AgentFile> = Vec::new();
    let mut diagnostics = Vec::new();
    let mut walk = Walk::new();
    for (directory, source) in &directories.0 {
        let mut found = NamedSet::new("agent");
        for path in walk.files_below(directory, ".md") {
            match read_agent(&path, *source, &mut found) {
                Ok(Some(agent)) => {
                    let name = agent.name.clone();
                    found.add(&name, &path, || agent);
                }
                Ok(None) => {}
                Err(problem) => found.warn(format!("skipped agent: {problem}"), &path),
            }
        }
        let (mut found, mut problems) = found.finish();
        found.retain(|agent| !agents.iter().any(|known| known.name == agent.name));
        agents.append(&mut found);
        diagnostics.append(&mut problems);
    }
    diagnostics.extend(walk.into_diagnostics());
    agents.sort_by(|one, other| one.name.cmp(&other.name));
    (agents, diagnostics)
}

/// Reads one file; `None` if it has vanished.
fn read_agent(
    path: &Path,
    source: AgentSource,
    found: &mut NamedSet<AgentFile>,
) -> Result<Option<AgentFile>, String> {
    let text = read_prose(path, MAX_BYTES).map_err(|error| error.to_string())?;
    let Some(text) = text else {
        return Ok(None);
    };
    let text = normalize_line_endings(&text);
    let document = split(&text);
    let block = document
        .block
        .ok_or("it has no front matter; add name and description")?;
    let matter = FrontMatter::parse(block).map_err(|error| error.to_string())?;
    let name = match matter.text("name") {
        Some(name) => name.trim().to_owned(),
        None => path
            .file_stem()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned(),
    };
    if !is_name(&name) {
        return Err(format!(
            "invalid name {name:?}: use letters, digits, \"-\", \"_\" and \".\", at most {MAX_NAME_LENGTH}"
        ));
    }
    let description = matter
        .text("description")
        .ok_or("it has no description, which states when to use it")?;
    let thinking = matter.text("thinking").and_then(|level| {
        let known = ThinkingLevel::from_name(level.trim());
        if known.is_none() {
            found.warn(format!("unknown thinking level {level:?} ignored"), path);
        }
        known
    });
    let model = matter.text("model").map(str::trim);
    let tools = matter.list("tools");
    Ok(Some(AgentFile {
        name,
        description: description.split_whitespace().collect::<Vec<_>>().join(" "),
        tools: match source {
            AgentSource::Imported => {
                tools.map(|tools| tools.iter().map(|tool| imported_tool(tool)).collect())
            }
            AgentSource::User | AgentSource::Project => tools,
        },
        model: model.filter(|model| *model != "inherit").map(str::to_owned),
        thinking,
        agents: matter.list("agents").unwrap_or_default(),
        prompt: document.body.trim().to_owned(),
        path: path.to_owned(),
        source,
    }))
}

fn is_name(name: &str) -> bool {
    let is_allowed = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
    !name.is_empty() && name.len() <= MAX_NAME_LENGTH && name.chars().all(is_allowed)
}

/// Returns pi's name of a tool of Claude Code.
fn imported_tool(name: &str) -> String {
    if name.starts_with("mcp__") {
        return name.to_owned();
    }
    // Entries such as `Bash(git *)` restrict a tool; permission rules do that here.
    let name = name.split('(').next().unwrap_or(name);
    let renamed = IMPORTED_TOOLS.iter().find(|(theirs, _)| *theirs == name);
    renamed.map_or_else(|| name.to_lowercase(), |(_, ours)| (*ours).to_owned())
}

#[cfg(test)]
mod tests {
    use pi_test_support::TempHome;
    use pretty_assertions::assert_eq;

    use super::*;

    fn directories(home: &TempHome, trusted: bool) -> AgentDirectories {
        let project = home.path().join("project");
        AgentDirectories::new(
            &home.path().join("agent"),
            Some(&home.path().join("home")),
            trusted.then_some(project.as_path()),
        )
    }

    #[test]
    fn files_are_read_with_all_their_fields() {
        let home = TempHome::new();
        home.write(
            "agent/agents/deep/reviewer.md",
            "---\nname: code-reviewer\ndescription: Reviews\n  changes\ntools: read, grep\nmodel: mock/beta\nthinking: high\nagents: [explorer]\n---\n\nBe strict.\n",
        );
        let (agents, problems) = load_agents(&directories(&home, false));
        assert_eq!(problems, []);
        let [agent] = agents.as_slice() else {
            panic!("{agents:?}");
        };
        let expected = AgentFile {
            name: "code-reviewer".to_owned(),
            description: "Reviews changes".to_owned(),
            tools: Some(vec!["read".to_owned(), "grep".to_owned()]),
            model: Some("mock/beta".to_owned()),
            thinking: Some(ThinkingLevel::High),
            agents: vec!["explorer".to_owned()],
            prompt: "Be strict.".to_owned(),
            path: home.path().join("agent/agents/deep/reviewer.md"),
            source: AgentSource::User,
        };
        assert_eq!(*agent, expected);
    }

    #[test]
    fn agents_of_a_project_need_trust_and_come_first() {
        let home = TempHome::new();
        let agent = |description: &str| format!("---\ndescription: {description}\n---\nWork.");
        home.write("agent/agents/one.md", agent("of the user"));
        home.write("project/.pi/agents/one.md", agent("of the project"));
        home.write(
            "project/.claude/agents/two.md",
            "---\ndescription: imported\ntools: Read, Glob, Bash(git *), mcp__a__B\nmodel: inherit\n---\n",
        );
        let found = |trusted| {
            let (agents, problems) = load_agents(&directories(&home, trusted));
            assert_eq!(problems, []);
            agents
        };
        let names = |agents: &[AgentFile]| -> Vec<String> {
            agents
                .iter()
                .map(|agent| format!("{} {}", agent.name, agent.description))
                .collect()
        };
        assert_eq!(names(&found(false)), ["one of the user"]);
        let agents = found(true);
        assert_eq!(names(&agents), ["one of the project", "two imported"]);
        let tools: Vec<_> = agents[1].tools.iter().flatten().collect();
        assert_eq!(tools, ["read", "find", "bash", "mcp__a__B"]);
        assert_eq!(agents[1].model, None);
    }

    #[test]
    fn files_that_cannot_be_used_are_reported() {
        let home = TempHome::new();
        home.write("agent/agents/a.md", "no front matter");
        home.write("agent/agents/b.md", "---\nname: b\n---\nNo description.");
        home.write("agent/agents/c.md", "---\nname: [\n---\n");
        home.write("agent/agents/d.md", "---\nname: a b\ndescription: d\n---\n");
        home.write(
            "agent/agents/e.md",
            "---\ndescription: e\nthinking: much\n---\n",
        );
        home.write("agent/agents/f.md", "---\nname: e\ndescription: f\n---\n");
        let (agents, problems) = load_agents(&directories(&home, false));
        let names: Vec<_> = agents.iter().map(|agent| agent.name.as_str()).collect();
        assert_eq!(names, ["e"]);
        let problems: Vec<_> = problems.iter().map(|problem| &problem.message).collect();
        for (problem, expected) in problems.iter().zip([
            "no front matter",
            "no description",
            "invalid YAML",
            "invalid name \"a b\"",
            "thinking level \"much\" ignored",
            "name is already used",
        ]) {
            assert!(problem.contains(expected), "{problem}");
        }
        assert_eq!(problems.len(), 6);
    }
}
