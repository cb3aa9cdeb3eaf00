//! Existing and active tools for each flag.

use futures_util::future::BoxFuture;
use pi_core::{ToolError, UpdateSink};
use pi_protocol::json::JsonObject;
use pi_protocol::{InputLimits, Tool as ToolDeclaration, ToolOutput};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::*;

struct NamedTool(ToolDeclaration);

impl Tool for NamedTool {
    fn declaration(&self) -> &ToolDeclaration {
        &self.0
    }

    fn execute<'a>(
        &'a self,
        _call_id: &'a str,
        _arguments: JsonObject,
        _updates: UpdateSink,
        _cancel: CancellationToken,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async { Ok(ToolOutput::default()) })
    }
}

fn custom(name: &str) -> RegisteredTool {
    RegisteredTool::new(Arc::new(NamedTool(ToolDeclaration {
        name: name.to_owned(),
        description: "custom".to_owned(),
        parameters: json!({"type": "object"}),
        constrained_sampling: None,
        extra: JsonObject::new(),
    })))
}

fn toolset(selection: ToolSelection, default_tools: Option<&[&str]>) -> Toolset {
    Toolset::new(ToolsetOptions {
        selection,
        default_tools: default_tools.map(|names| names.iter().map(|&it| it.to_owned()).collect()),
        custom: vec![custom("mine")],
        ..ToolsetOptions::new("/project")
    })
}

fn names(list: &str) -> Vec<String> {
    list.split(',')
        .filter(|name| !name.is_empty())
        .map(str::to_owned)
        .collect()
}

#[test]
fn flags_decide_what_exists_and_what_is_active() {
    let all = "read,bash,edit,write,grep,find,ls,mine";
    for (allow, exclude, defaults, existing, active) in [
        (
            None,
            "",
            DefaultTools::All,
            all,
            "read,bash,edit,write,mine",
        ),
        (None, "", DefaultTools::NoBuiltin, all, "mine"),
        (None, "", DefaultTools::None, "", ""),
        (Some("ls,read"), "", DefaultTools::All, "read,ls", "ls,read"),
        (Some("read,bogus"), "", DefaultTools::All, "read", "read"),
        (Some("read,ls"), "ls", DefaultTools::All, "read", "read"),
        (
            Some("read,mine"),
            "",
            DefaultTools::None,
            "read,mine",
            "read,mine",
        ),
        (Some("grep"), "", DefaultTools::NoBuiltin, "grep", "grep"),
        (Some(""), "", DefaultTools::All, "", ""),
        (
            None,
            "bash,write",
            DefaultTools::All,
            "read,edit,grep,find,ls,mine",
            "read,edit,mine",
        ),
    ] {
        let set = toolset(
            ToolSelection {
                allow: allow.map(names),
                exclude: names(exclude),
                defaults,
            },
            None,
        );
        let exist: Vec<&str> = set.tools().iter().map(RegisteredTool::name).collect();
        assert_eq!(exist, names(existing), "{allow:?} {exclude} {defaults:?}");
        assert_eq!(
            set.default_active(),
            names(active),
            "{allow:?} {exclude} {defaults:?}"
        );
    }
}

#[test]
fn settings_override_the_default_tools() {
    let set = toolset(ToolSelection::default(), Some(&["grep", "nothing", "read"]));
    assert_eq!(set.default_active(), names("grep,read,mine"));
    let none = toolset(ToolSelection::default(), Some(&[]));
    assert_eq!(none.default_active(), names("mine"));
}

#[test]
fn a_custom_tool_replaces_a_built_in_one() {
    let set = Toolset::new(ToolsetOptions {
        custom: vec![custom("read")],
        ..ToolsetOptions::new("/project")
    });
    assert_eq!(set.get("read").unwrap().origin, ToolOrigin::Program);
    assert_eq!(set.get("read").unwrap().snippet, None);
    assert_eq!(set.tools().len(), 7);
    assert_eq!(set.default_active(), names("read,bash,edit,write"));
}

#[test]
fn selecting_skips_unknown_and_duplicate_names() {
    let set = toolset(ToolSelection::default(), None);
    let selected = set.select(["ls", "nope", "ls", "read"]);
    let selected: Vec<&str> = selected
        .iter()
        .map(|tool| tool.declaration().name.as_str())
        .collect();
    assert_eq!(selected, ["ls", "read"]);
}

#[test]
fn a_reload_keeps_active_tools_and_adds_custom_ones() {
    let set = toolset(ToolSelection::default(), None);
    assert_eq!(set.active_after_reload(&names("ls,gone")), names("ls,mine"));
    let allowed = toolset(
        ToolSelection {
            allow: Some(names("read,ls")),
            ..ToolSelection::default()
        },
        None,
    );
    assert_eq!(allowed.active_after_reload(&names("ls")), names("ls,read"));
}

#[test]
fn images_follow_the_model() {
    let set = toolset(ToolSelection::default(), None);
    assert_eq!(set.image_policy(), ImagePolicy::default());
    let mut model = pi_providers::FauxProvider::new().model();
    model.input = vec![Modality::Text];
    model.input_limits = Some(
        serde_json::from_value::<InputLimits>(json!({"images": {"resize": {"maxWidth": 100}}}))
            .unwrap(),
    );
    set.set_image_policy_for(Some(&model));
    let policy = set.image_policy();
    assert_eq!(policy.limits.unwrap().max_width, 100);
    assert!(!policy.model_supports_images);

    let untouched = Toolset::new(ToolsetOptions {
        resize_images: false,
        ..ToolsetOptions::new("/project")
    });
    assert_eq!(untouched.image_policy().limits, None);
}

#[test]
fn commands_get_the_process_marks_and_the_tools_directory() {
    let marks = PROCESS_MARKS.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let base = [("PATH", "/bin"), ("AI_AGENT", "other")].map(|(n, v)| (n.into(), v.into()));
    let made = command_environment(base, &marks, Path::new("/agent/bin"));
    let expected = [
        ("AI_AGENT", "pi"),
        ("PATH", "/agent/bin:/bin"),
        ("PI_CODING_AGENT", "true"),
    ]
    .map(|(n, v)| (n.into(), v.into()));
    assert_eq!(made, ShellEnvironment::new(expected, None));
}

#[test]
fn default_prompt() {
    let tools = Toolset::new(ToolsetOptions::new("/project"));
    let parts = pi_context::SystemPromptParts {
        cwd: "/project".into(),
        docs: pi_context::DocsPaths {
            documentation: None,
            program: "pi".to_owned(),
            agent_directory: "/home/me/.pi/agent".into(),
        },
        ..pi_context::SystemPromptParts::default()
    };
    let active = ["read", "bash", "edit", "write"].map(str::to_owned);
    let sections = parts.sections(&tools.prompt_tools(&active)).rendered();
    let sections_text: Vec<&str> = sections.values().filter_map(Value::as_str).collect();
    insta::assert_snapshot!(sections_text.join("\n\n"));
}
