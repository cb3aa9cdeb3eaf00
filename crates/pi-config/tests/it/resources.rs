//! Resources: where they come from, which one wins, and what is said about the rest.

use std::path::PathBuf;

use pi_ai::Env;
use pi_config::{
    AgentDir, ProjectAccess, ResourceFlags, ResourceRequest, Resources, SettingsStore, SourceInfo,
    expand_prompt_template, expand_skill_command, list_skills_for_model, load_resources,
};
use pi_test_support::TempHome;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

/// A home, an agent directory and a project in a temporary directory.
pub(crate) struct World {
    pub(crate) home: TempHome,
    pub(crate) project: ProjectAccess,
    pub(crate) flags: ResourceFlags,
}

impl World {
    pub(crate) fn new() -> Self {
        let world = Self {
            home: TempHome::new(),
            project: ProjectAccess::Trusted,
            flags: ResourceFlags::default(),
        };
        // Keeps the way up to the real file system out of the tests.
        world
            .home
            .write("project/.git/HEAD", "ref: refs/heads/main\n");
        world
    }

    pub(crate) fn with(files: &[(&str, &str)]) -> Self {
        let world = Self::new();
        for (path, content) in files {
            world.home.write(path, content);
        }
        world
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

    /// Writes a path the way assertions read it.
    pub(crate) fn short(&self, path: &std::path::Path) -> String {
        let root = self.root();
        let path = path.strip_prefix(&root).unwrap_or(path);
        path.to_string_lossy().into_owned()
    }

    pub(crate) fn said(&self, resources: &Resources) -> Vec<String> {
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

fn source(world: &World, info: &SourceInfo) -> Value {
    let text = serde_json::to_string(info).unwrap();
    serde_json::from_str(&text.replace(&*world.root().to_string_lossy(), "")).unwrap()
}

#[test]
fn skills_are_found_by_dir_by_file_and_in_the_home() {
    let world = World::with(&[
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
    let resources = world.load();
    assert_eq!(
        skill_names(&resources),
        ["loose", "deep", "out-below", "pdf", "agents-inner", "home"]
    );
    assert_eq!(world.said(&resources), [""; 0]);
    let home = resources.skills.last().unwrap();
    assert_eq!(
        source(&world, &home.source_info),
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
fn odd_skills_are_reported_and_those_without_description_left_out() {
    let long = "x".repeat(1025);
    let world = World::with(&[
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
    let resources = world.load();
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
    let said = world.said(&resources);
    let about = |dir: &str| -> Vec<&str> {
        let prefix = format!("Warning agent/skills/{dir}/SKILL.md: ");
        said.iter()
            .filter_map(|line| line.strip_prefix(&prefix))
            .collect()
    };
    assert_eq!(
        about("Bad_Name"),
        ["skill name \"Bad_Name\" should hold only a-z, 0-9 and hyphens"]
    );
    assert_eq!(about("a").len(), 2);
    assert_eq!(
        about("b"),
        ["skill description has 1025 characters; keep it within 1024"]
    );
    assert_eq!(
        about("c"),
        ["skill has no description and is not loaded; add one to its front matter"]
    );
    assert!(
        about("d")
            .concat()
            .starts_with("front matter is not valid YAML: ")
    );
    // A name never reaches a terminal as it is.
    assert_eq!(
        about("f"),
        ["skill name \"f\\u{1b}[31m\" should hold only a-z, 0-9 and hyphens"]
    );
}

#[test]
fn the_model_sees_escaped_names_of_the_skills_it_may_use() {
    let world = World::with(&[
        (
            "agent/skills/a/SKILL.md",
            "---\ndescription: <b> & \"c\" 'd'\n---\n",
        ),
        (
            "agent/skills/h/SKILL.md",
            "---\ndescription: d\ndisable-model-invocation: true\n---\n",
        ),
    ]);
    let resources = world.load();
    let listing = list_skills_for_model(&resources.skills);
    assert_eq!(listing.len(), 1);
    assert_eq!(
        listing.first().unwrap().description,
        "&lt;b&gt; &amp; &quot;c&quot; &apos;d&apos;"
    );
}

#[test]
fn a_skill_command_becomes_the_instructions() {
    let world = World::with(&[(
        "agent/skills/pdf/SKILL.md",
        &skill("pdf").replace('\n', "\r\n"),
    )]);
    let resources = world.load();
    let expand = |text: &str| {
        expand_skill_command(text, &resources.skills).map(|result| {
            result
                .unwrap()
                .replace(&*world.root().to_string_lossy(), "")
        })
    };
    let block = "<skill name=\"pdf\" location=\"/agent/skills/pdf/SKILL.md\">\nReferences are relative to /agent/skills/pdf.\n\nBody of pdf.\n</skill>";
    assert_eq!(expand("/skill:pdf").as_deref(), Some(block));
    assert_eq!(
        expand("/skill:pdf  a b ").unwrap(),
        format!("{block}\n\na b")
    );
    assert_eq!(expand("/skill:nope x"), None);
    assert_eq!(expand("skill:pdf"), None);
    std::fs::remove_file(world.root().join("agent/skills/pdf/SKILL.md")).unwrap();
    let gone = expand_skill_command("/skill:pdf", &resources.skills).unwrap();
    assert!(
        gone.unwrap_err()
            .to_string()
            .contains("cannot be used: it is gone")
    );
}

#[test]
fn templates_are_direct_children_and_describe_themselves() {
    let long = format!("{}\nmore", "é".repeat(61));
    let world = World::with(&[
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
    let resources = world.load();
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
    assert_eq!(world.said(&resources).len(), 1);
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
fn the_project_comes_before_the_user_and_settings_before_dirs() {
    let world = World::with(&[
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
    let resources = world.load();
    let texts: Vec<&str> = resources
        .prompt_templates
        .iter()
        .map(|template| template.content.as_str())
        .collect();
    assert_eq!(texts, ["project settings", "user settings, nested"]);
    assert_eq!(
        world.said(&resources),
        [
            "Warning project/.pi/prompts/t.md: prompt template \"t\" is left out: /project/named/t.md has the same name",
            "Warning user-prompts/t.md: prompt template \"t\" is left out: /project/named/t.md has the same name",
            "Warning agent/prompts/t.md: prompt template \"t\" is left out: /project/named/t.md has the same name",
            "Warning agent/prompts/u.md: prompt template \"u\" is left out: /user-prompts/deep/u.md has the same name",
        ]
    );
    assert_eq!(
        source(
            &world,
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
fn patterns_in_the_settings_switch_resources_off_and_on() {
    let world = World::with(&[
        (
            "agent/settings.json",
            r#"{"skills": ["../project/mine", "!**/no/**", "!auto*", "+skills/auto2", "-mine/never"]}"#,
        ),
        ("project/mine/yes/SKILL.md", &skill("yes")),
        ("project/mine/no/SKILL.md", &skill("no")),
        ("agent/skills/auto1/SKILL.md", &skill("auto1")),
        ("agent/skills/auto2/SKILL.md", &skill("auto2")),
    ]);
    assert_eq!(skill_names(&world.load()), ["yes", "auto2"]);
}

#[test]
fn explicit_paths_load_where_their_kind_is_switched_off() {
    let mut world = World::with(&[
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
    world.flags = ResourceFlags {
        skills: strings(&["extra"]),
        prompt_templates: strings(&["p"]),
        themes: strings(&["t.json"]),
        extensions: strings(&["./x.js"]),
        ..ResourceFlags::default()
    };
    let together = world.load();
    assert_eq!(skill_names(&together), ["pdf", "extra"]);
    assert_eq!(template_names(&together), ["a", "b"]);

    world.flags.no_skills = true;
    world.flags.no_prompt_templates = true;
    world.flags.no_themes = true;
    world.flags.no_extensions = true;
    let resources = world.load();
    assert_eq!(skill_names(&resources), ["extra"]);
    assert_eq!(template_names(&resources), ["b"]);
    let themes: Vec<&str> = resources
        .themes
        .iter()
        .map(|theme| theme.name.as_str())
        .collect();
    assert_eq!(themes, ["t"]);
    assert_eq!(
        source(&world, &resources.skills.first().unwrap().source_info),
        json!({"path": "/project/extra/SKILL.md", "source": "local", "scope": "temporary", "origin": "top-level", "baseDir": "/project/extra"})
    );
    assert_eq!(
        source(&world, &resources.extensions.first().unwrap().source_info),
        json!({"path": "/project/x.js", "source": "cli", "scope": "temporary", "origin": "top-level"})
    );
    assert_eq!(world.said(&resources), [""; 0]);
}

#[test]
fn explicit_paths_that_are_not_there_are_reported() {
    let mut world = World::new();
    let named = vec!["nowhere".to_owned()];
    world.flags = ResourceFlags {
        skills: named.clone(),
        prompt_templates: named.clone(),
        themes: named.clone(),
        extensions: named,
        ..ResourceFlags::default()
    };
    let resources = world.load();
    assert_eq!(
        world.said(&resources),
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
fn extensions_are_scripts_or_dirs_that_say_so() {
    let world = World::with(&[
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
    let resources = world.load();
    let paths: Vec<String> = resources
        .extensions
        .iter()
        .map(|extension| world.short(&extension.path))
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
fn themes_need_a_name_and_colors() {
    let world = World::with(&[
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
    let resources = world.load();
    assert_eq!(resources.themes.len(), 1);
    assert_eq!(
        world.said(&resources),
        [
            "Warning agent/themes/c.json: theme is left out: its name \"a/b\" must not hold a slash",
            "Warning agent/themes/d.json: theme is left out: it has no name",
            "Warning agent/themes/e.json: theme is left out: not valid JSON: EOF while parsing an object at line 1 column 1",
            "Warning agent/themes/f.json: theme is left out: it has no colors",
            "Warning agent/themes/b.json: theme \"dusk\" is left out: /agent/themes/a.json has the same name",
        ]
    );
}

#[test]
fn agents_dirs_count_up_to_the_repository() {
    let world = World::with(&[
        ("outer/.agents/skills/o/SKILL.md", &skill("outside")),
        ("outer/repo/.git/HEAD", ""),
        ("outer/repo/.agents/skills/r/SKILL.md", &skill("root")),
        ("outer/repo/sub/.agents/skills/s/SKILL.md", &skill("sub")),
    ]);
    let mut request = world.request();
    request.cwd = world.root().join("outer/repo/sub");
    let resources = load_resources(&request);
    assert_eq!(skill_names(&resources), ["sub", "root"]);
    request.project = ProjectAccess::Undecided;
    assert_eq!(skill_names(&load_resources(&request)), [""; 0]);
}

#[test]
fn a_linked_file_counts_once() {
    let world = World::with(&[("agent/skills/z/SKILL.md", &skill("z"))]);
    let skills = world.root().join("agent/skills");
    #[cfg(unix)]
    std::os::unix::fs::symlink(skills.join("z"), skills.join("a")).unwrap();
    let resources = world.load();
    assert_eq!(skill_names(&resources), ["z"]);
    assert_eq!(world.said(&resources), [""; 0]);
}
