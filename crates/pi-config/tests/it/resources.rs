//! Resource loading: sources, precedence and diagnostics.

use std::path::PathBuf;

use pi_config::{
    AgentDir, ResourceFlags, ResourceRequest, Resources, SettingsStore, expand_prompt_template,
    expand_skill_command, list_skills_for_model, load_resources,
};
use pi_env::Env;
use pi_protocol::{ProjectAccess, SourceInfo};
use pi_test_support::TempHome;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

/// A home, an agent directory and a project in a temporary directory.
pub(crate) struct ResourceTestEnv {
    pub(crate) home: TempHome,
    pub(crate) project: ProjectAccess,
    pub(crate) flags: ResourceFlags,
}

impl ResourceTestEnv {
    pub(crate) fn new() -> Self {
        let env = Self {
            home: TempHome::new(),
            project: ProjectAccess::Trusted,
            flags: ResourceFlags::default(),
        };
        // Stops the search for parent directories within the test's home.
        env.home
            .write("project/.git/HEAD", "ref: refs/heads/main\n");
        env
    }

    pub(crate) fn with(files: &[(&str, &str)]) -> Self {
        let env = Self::new();
        for (path, content) in files {
            env.home.write(path, content);
        }
        env
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.home.path().canonicalize().unwrap()
    }

    pub(crate) fn request(&self) -> ResourceRequest {
        let root = self.root();
        let agent_dir = AgentDir::at(root.join("agent"));
        let cwd = root.join("project");
        ResourceRequest {
            settings: SettingsStore::open(&agent_dir, &cwd, self.project),
            agent_dir,
            cwd,
            env: Env::fixed([("HOME", root.join("home").to_string_lossy().into_owned())]),
            project: self.project,
            flags: self.flags.clone(),
        }
    }

    pub(crate) fn load(&self) -> Resources {
        load_resources(&self.request())
    }

    /// Formats a path relative to the test's root.
    pub(crate) fn short(&self, path: &std::path::Path) -> String {
        let root = self.root();
        let path = path.strip_prefix(&root).unwrap_or(path);
        path.to_string_lossy().into_owned()
    }

    pub(crate) fn messages(&self, resources: &Resources) -> Vec<String> {
        resources
            .diagnostics
            .iter()
            .chain(&resources.extension_errors)
            .map(|diagnostic| {
                let path = diagnostic.path.as_deref().map(|path| self.short(path));
                let message = diagnostic
                    .message
                    .replace(&*self.root().to_string_lossy(), "");
                format!(
                    "{:?} {}: {message}",
                    diagnostic.level,
                    path.unwrap_or_default()
                )
            })
            .collect()
    }
}

fn skill(name: &str) -> String {
    format!("---\nname: {name}\ndescription: About {name}\n---\n\nBody of {name}.\n")
}

fn skill_names(resources: &Resources) -> Vec<&str> {
    let skills = resources.skills.iter();
    skills.map(|skill| skill.name.as_str()).collect()
}

fn template_names(resources: &Resources) -> Vec<&str> {
    let templates = resources.prompt_templates.iter();
    templates.map(|template| template.name.as_str()).collect()
}

fn source(env: &ResourceTestEnv, info: &SourceInfo) -> Value {
    let text = serde_json::to_string(info).unwrap();
    serde_json::from_str(&text.replace(&*env.root().to_string_lossy(), "")).unwrap()
}

#[test]
fn skills_are_found_in_all_locations() {
    let env = ResourceTestEnv::with(&[
        ("agent/skills/pdf/SKILL.md", &skill("pdf")),
        ("agent/skills/pdf/nested/SKILL.md", &skill("unreachable")),
        ("agent/skills/nested/deep/SKILL.md", &skill("deep")),
        ("agent/skills/nested/loose.md", &skill("not-at-the-top")),
        ("agent/skills/loose.md", &skill("loose")),
        ("agent/skills/readme.md", "no front matter"),
        ("agent/skills/broken.md", "---\n[\n---\n"),
        ("agent/skills/.hidden/SKILL.md", &skill("hidden")),
        ("agent/skills/node_modules/x/SKILL.md", &skill("dependency")),
        ("agent/skills/.gitignore", "skipped/\n/out\n!kept\n"),
        ("agent/skills/skipped/SKILL.md", &skill("skipped")),
        ("agent/skills/out/SKILL.md", &skill("out")),
        ("agent/skills/nested/out/SKILL.md", &skill("out-below")),
        ("home/.agents/skills/h/SKILL.md", &skill("home")),
        ("home/.agents/skills/top.md", &skill("agents-top")),
        ("home/.agents/skills/group/inner.md", &skill("agents-inner")),
    ]);
    let resources = env.load();
    assert_eq!(
        skill_names(&resources),
        ["loose", "deep", "out-below", "pdf", "agents-inner", "home"]
    );
    assert_eq!(env.messages(&resources), [""; 0]);
    let home = resources.skills.last().unwrap();
    assert_eq!(
        source(&env, &home.source_info),
        json!({
            "path": "/home/.agents/skills/h/SKILL.md",
            "source": "auto",
            "scope": "user",
            "origin": "top-level",
            "baseDir": "/home/.agents"
        })
    );
}

#[test]
fn invalid_skills_are_reported_or_skipped() {
    let long = "x".repeat(1025);
    let env = ResourceTestEnv::with(&[
        (
            "agent/skills/Bad_Name/SKILL.md",
            "---\ndescription: d\n---\n",
        ),
        (
            "agent/skills/a/SKILL.md",
            "---\nname: -a--b\ndescription: d\n---\n",
        ),
        (
            "agent/skills/b/SKILL.md",
            &format!("---\nname: b\ndescription: {long}\n---\n"),
        ),
        ("agent/skills/c/SKILL.md", "---\nname: c\n---\nx"),
        ("agent/skills/d/SKILL.md", "---\nname: [\n---\nx"),
        (
            "agent/skills/e/SKILL.md",
            "---\nname: 12\ndescription: d\ndisable-model-invocation: true\n---\n",
        ),
        (
            "agent/skills/f/SKILL.md",
            "---\nname: \"f\\e[31m\"\ndescription: d\n---\n",
        ),
    ]);
    let resources = env.load();
    assert_eq!(
        skill_names(&resources),
        ["Bad_Name", "-a--b", "b", "e", "f\u{1b}[31m"]
    );
    assert!(
        resources
            .skills
            .iter()
            .any(|skill| skill.name == "e" && skill.disable_model_invocation)
    );
    let messages = env.messages(&resources);
    let about = |dir: &str| -> Vec<&str> {
        let prefix = format!("Warning agent/skills/{dir}/SKILL.md: ");
        messages
            .iter()
            .filter_map(|line| line.strip_prefix(&prefix))
            .collect()
    };
    assert_eq!(
        about("Bad_Name"),
        ["skill name \"Bad_Name\" should contain only a-z, 0-9 and hyphens"]
    );
    assert_eq!(about("a").len(), 2);
    assert_eq!(
        about("b"),
        ["skill description is too long: 1025 characters, at most 1024 allowed"]
    );
    assert_eq!(
        about("c"),
        ["skipped skill: no description; add one to its front matter"]
    );
    assert!(
        about("d")
            .concat()
            .starts_with("invalid YAML front matter: ")
    );
    // Names are escaped before they reach a terminal.
    assert_eq!(
        about("f"),
        ["skill name \"f\\u{1b}[31m\" should contain only a-z, 0-9 and hyphens"]
    );
}

#[test]
fn skill_listing_is_escaped() {
    let env = ResourceTestEnv::with(&[
        (
            "agent/skills/a/SKILL.md",
            "---\ndescription: <b> & \"c\" 'd'\n---\n",
        ),
        (
            "agent/skills/h/SKILL.md",
            "---\ndescription: d\ndisable-model-invocation: true\n---\n",
        ),
    ]);
    let resources = env.load();
    let listing = list_skills_for_model(&resources.skills);
    assert_eq!(listing.len(), 1);
    assert_eq!(
        listing.first().unwrap().description,
        "&lt;b&gt; &amp; &quot;c&quot; &apos;d&apos;"
    );
}

#[test]
fn skill_command_expands_to_instructions() {
    let env = ResourceTestEnv::with(&[(
        "agent/skills/pdf/SKILL.md",
        &skill("pdf").replace('\n', "\r\n"),
    )]);
    let resources = env.load();
    let expand = |text: &str| {
        expand_skill_command(text, &resources.skills)
            .map(|result| result.unwrap().replace(&*env.root().to_string_lossy(), ""))
    };
    let block = "<skill name=\"pdf\" location=\"/agent/skills/pdf/SKILL.md\">\nReferences are relative to /agent/skills/pdf.\n\nBody of pdf.\n</skill>";
    assert_eq!(expand("/skill:pdf").as_deref(), Some(block));
    assert_eq!(
        expand("/skill:pdf  a b ").unwrap(),
        format!("{block}\n\na b")
    );
    assert_eq!(expand("/skill:nope x"), None);
    assert_eq!(expand("skill:pdf"), None);
    std::fs::remove_file(env.root().join("agent/skills/pdf/SKILL.md")).unwrap();
    let gone = expand_skill_command("/skill:pdf", &resources.skills).unwrap();
    assert!(gone.unwrap_err().to_string().contains("file not found"));
}

#[test]
fn templates_are_direct_children_with_descriptions() {
    let long = format!("{}\nmore", "é".repeat(61));
    let env = ResourceTestEnv::with(&[
        (
            "agent/prompts/review.md",
            "---\ndescription: Review it\nargument-hint: \"[focus]\"\n---\nReview $1.\n",
        ),
        ("agent/prompts/plain.md", "\nFirst line of plain.\nMore.\n"),
        ("agent/prompts/long.md", &long),
        ("agent/prompts/broken.md", "---\na: [\n---\n"),
        ("agent/prompts/sub/inner.md", "never found\n"),
        ("agent/prompts/note.txt", "no template\n"),
    ]);
    let resources = env.load();
    let described: Vec<(&str, &str, Option<&str>)> = resources
        .prompt_templates
        .iter()
        .map(|template| {
            let hint = template.argument_hint.as_deref();
            (template.name.as_str(), template.description.as_str(), hint)
        })
        .collect();
    let cut = format!("{}...", "é".repeat(60));
    assert_eq!(
        described,
        [
            ("long", cut.as_str(), None),
            ("plain", "First line of plain.", None),
            ("review", "Review it", Some("[focus]")),
        ]
    );
    assert_eq!(env.messages(&resources).len(), 1);
    let expand = |text: &str| expand_prompt_template(text, &resources.prompt_templates);
    assert_eq!(expand("/review \"a b\"").as_deref(), Some("Review a b."));
    assert_eq!(expand("/review $1").as_deref(), Some("Review $1."));
    assert_eq!(
        expand("/plain x").as_deref(),
        Some("\nFirst line of plain.\nMore.\n")
    );
    assert_eq!(expand("/inner"), None);
    assert_eq!(expand("review"), None);
    assert_eq!(expand("/"), None);
}

#[test]
fn project_wins_over_user_and_settings_over_directories() {
    let env = ResourceTestEnv::with(&[
        ("agent/settings.json", r#"{"prompts": ["../user-prompts"]}"#),
        (
            "project/.pi/settings.json",
            r#"{"prompts": ["../named/t.md"]}"#,
        ),
        ("project/named/t.md", "project settings"),
        ("project/.pi/prompts/t.md", "project folder"),
        ("user-prompts/t.md", "user settings"),
        ("user-prompts/deep/u.md", "user settings, nested"),
        ("agent/prompts/t.md", "user folder"),
        ("agent/prompts/u.md", "user folder"),
    ]);
    let resources = env.load();
    let texts: Vec<&str> = resources
        .prompt_templates
        .iter()
        .map(|template| template.content.as_str())
        .collect();
    assert_eq!(texts, ["project settings", "user settings, nested"]);
    assert_eq!(
        env.messages(&resources),
        [
            "Warning project/.pi/prompts/t.md: skipped prompt template \"t\": the name is already used by /project/named/t.md",
            "Warning user-prompts/t.md: skipped prompt template \"t\": the name is already used by /project/named/t.md",
            "Warning agent/prompts/t.md: skipped prompt template \"t\": the name is already used by /project/named/t.md",
            "Warning agent/prompts/u.md: skipped prompt template \"u\": the name is already used by /user-prompts/deep/u.md",
        ]
    );
    assert_eq!(
        source(
            &env,
            &resources.prompt_templates.first().unwrap().source_info
        ),
        json!({
            "path": "/project/named/t.md",
            "source": "local",
            "scope": "project",
            "origin": "top-level"
        })
    );
}

#[test]
fn settings_patterns_toggle_resources() {
    let env = ResourceTestEnv::with(&[
        (
            "agent/settings.json",
            r#"{"skills": ["../project/mine", "!**/no/**", "!auto*", "+skills/auto2", "-mine/never"]}"#,
        ),
        ("project/mine/yes/SKILL.md", &skill("yes")),
        ("project/mine/no/SKILL.md", &skill("no")),
        ("agent/skills/auto1/SKILL.md", &skill("auto1")),
        ("agent/skills/auto2/SKILL.md", &skill("auto2")),
    ]);
    assert_eq!(skill_names(&env.load()), ["yes", "auto2"]);
}

#[test]
fn explicit_paths_load_if_their_kind_is_disabled() {
    let mut env = ResourceTestEnv::with(&[
        ("agent/skills/pdf/SKILL.md", &skill("pdf")),
        ("agent/prompts/a.md", "a"),
        ("agent/themes/x.json", r#"{"name": "x", "colors": {}}"#),
        ("agent/extensions/e.ts", ""),
        ("project/extra/SKILL.md", &skill("extra")),
        ("project/p/b.md", "b"),
        ("project/t.json", r#"{"name": "t", "colors": {}}"#),
        ("project/x.js", ""),
    ]);
    let strings = |list: &[&str]| list.iter().map(ToString::to_string).collect();
    env.flags = ResourceFlags {
        skills: strings(&["extra"]),
        prompt_templates: strings(&["p"]),
        themes: strings(&["t.json"]),
        extensions: strings(&["./x.js"]),
        ..ResourceFlags::default()
    };
    let together = env.load();
    assert_eq!(skill_names(&together), ["pdf", "extra"]);
    assert_eq!(template_names(&together), ["a", "b"]);

    env.flags.no_skills = true;
    env.flags.no_prompt_templates = true;
    env.flags.no_themes = true;
    env.flags.no_extensions = true;
    let resources = env.load();
    assert_eq!(skill_names(&resources), ["extra"]);
    assert_eq!(template_names(&resources), ["b"]);
    let themes: Vec<&str> = resources
        .themes
        .iter()
        .map(|theme| theme.name.as_str())
        .collect();
    assert_eq!(themes, ["t"]);
    assert_eq!(
        source(&env, &resources.skills.first().unwrap().source_info),
        json!({"path": "/project/extra/SKILL.md", "source": "local", "scope": "temporary", "origin": "top-level", "baseDir": "/project/extra"})
    );
    assert_eq!(
        source(&env, &resources.extensions.first().unwrap().source_info),
        json!({"path": "/project/x.js", "source": "cli", "scope": "temporary", "origin": "top-level"})
    );
    assert_eq!(env.messages(&resources), [""; 0]);
}

#[test]
fn missing_explicit_paths_are_reported() {
    let mut env = ResourceTestEnv::new();
    let named = vec!["nowhere".to_owned()];
    env.flags = ResourceFlags {
        skills: named.clone(),
        prompt_templates: named.clone(),
        themes: named.clone(),
        extensions: named,
        ..ResourceFlags::default()
    };
    let resources = env.load();
    assert_eq!(
        env.messages(&resources),
        [
            "Warning project/nowhere: skill path does not exist",
            "Error project/nowhere: prompt template path does not exist",
            "Warning project/nowhere: theme path does not exist",
            "Error project/nowhere: extension path does not exist",
        ]
    );
    assert_eq!(resources.extension_errors.len(), 1);
}

#[test]
fn extensions_are_scripts_or_declaring_directories() {
    let env = ResourceTestEnv::with(&[
        ("agent/extensions/a.ts", ""),
        ("agent/extensions/b.js", ""),
        ("agent/extensions/c.mjs", ""),
        ("agent/extensions/dir/index.ts", ""),
        ("agent/extensions/dir/other.ts", ""),
        (
            "agent/extensions/pkg/package.json",
            r#"{"pi": {"extensions": ["./src/main.ts", "gone.ts"]}}"#,
        ),
        ("agent/extensions/pkg/src/main.ts", ""),
        ("agent/extensions/pkg/index.ts", ""),
        ("agent/extensions/plain/readme.md", ""),
        ("project/.pi/extensions/index.js", ""),
        ("project/.pi/extensions/lib.js", ""),
    ]);
    let resources = env.load();
    let paths: Vec<String> = resources
        .extensions
        .iter()
        .map(|extension| env.short(&extension.path))
        .collect();
    assert_eq!(
        paths,
        [
            "project/.pi/extensions/index.js",
            "agent/extensions/a.ts",
            "agent/extensions/b.js",
            "agent/extensions/dir/index.ts",
            "agent/extensions/pkg/src/main.ts",
        ]
    );
}

#[test]
fn themes_require_name_and_colors() {
    let env = ResourceTestEnv::with(&[
        (
            "agent/themes/a.json",
            "\u{feff}{\"name\": \"dusk\", \"colors\": {}}",
        ),
        ("agent/themes/b.json", r#"{"name": "dusk", "colors": {}}"#),
        ("agent/themes/c.json", r#"{"name": "a/b", "colors": {}}"#),
        ("agent/themes/d.json", r#"{"colors": {}}"#),
        ("agent/themes/e.json", "{"),
        ("agent/themes/f.json", r#"{"name": "f"}"#),
    ]);
    let resources = env.load();
    assert_eq!(resources.themes.len(), 1);
    assert_eq!(
        env.messages(&resources),
        [
            "Warning agent/themes/c.json: skipped theme: name \"a/b\" must not contain a slash",
            "Warning agent/themes/d.json: skipped theme: no name",
            "Warning agent/themes/e.json: skipped theme: invalid JSON: EOF while parsing an object at line 1 column 1",
            "Warning agent/themes/f.json: skipped theme: no colors",
            "Warning agent/themes/b.json: skipped theme \"dusk\": the name is already used by /agent/themes/a.json",
        ]
    );
}

#[test]
fn agents_directories_are_used_up_to_the_repository() {
    let env = ResourceTestEnv::with(&[
        ("outer/.agents/skills/o/SKILL.md", &skill("outside")),
        ("outer/repo/.git/HEAD", ""),
        ("outer/repo/.agents/skills/r/SKILL.md", &skill("root")),
        ("outer/repo/sub/.agents/skills/s/SKILL.md", &skill("sub")),
    ]);
    let mut request = env.request();
    request.cwd = env.root().join("outer/repo/sub");
    let resources = load_resources(&request);
    assert_eq!(skill_names(&resources), ["sub", "root"]);
    request.project = ProjectAccess::Undecided;
    assert_eq!(skill_names(&load_resources(&request)), [""; 0]);
}

#[test]
fn symlinked_file_is_loaded_once() {
    let env = ResourceTestEnv::with(&[("agent/skills/z/SKILL.md", &skill("z"))]);
    let skills = env.root().join("agent/skills");
    #[cfg(unix)]
    std::os::unix::fs::symlink(skills.join("z"), skills.join("a")).unwrap();
    let resources = env.load();
    assert_eq!(skill_names(&resources), ["z"]);
    assert_eq!(env.messages(&resources), [""; 0]);
}
