//! Existing and active tools for each flag.

use futures_util::future::BoxFuture;
use pi_core::{ToolContext, ToolError};
use pi_protocol::json::JsonObject;
use pi_protocol::{InputLimits, Tool as ToolDeclaration, ToolOutput};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::*;

struct NamedTool(ToolDeclaration);

impl Tool for NamedTool {
    fn declaration(&self) -> &ToolDeclaration {
        &self.0
    }

    fn call(
        &self,
        _cx: ToolContext,
        _arguments: JsonObject,
    ) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
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

fn source(tools: impl Into<Vec<RegisteredTool>>) -> Arc<ToolRegistry> {
    Arc::new(ToolRegistry::new(tools.into()))
}

fn toolset(selection: ToolSelection, default_tools: Option<&[&str]>) -> Toolset {
    Toolset::new(ToolsetOptions {
        selection,
        default_tools: default_tools.map(|names| names.iter().map(|&it| it.to_owned()).collect()),
        sources: vec![source([custom("mine")])],
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
fn a_tool_that_is_inactive_by_default_is_activated_by_name() {
    let active = |selection: ToolSelection, mentioned: &[&str]| {
        let lazy = RegisteredTool {
            is_default_active: false,
            ..custom("lazy")
        };
        let set = Toolset::new(ToolsetOptions {
            selection,
            default_tools: Some(names("read")),
            sources: vec![source([lazy, custom("mine")])],
            ..ToolsetOptions::new("/project")
        });
        let declared = mentioned.iter().map(|&name| name.to_owned()).collect();
        let mentioned = mentioned.iter().map(|&name| name.to_owned()).collect();
        (
            set.default_active().join(","),
            set.active_after_resume(declared, &mentioned).join(","),
        )
    };
    let changes = |entries| {
        let mut selection = ToolSelection::default();
        selection.set_list(names(entries)).unwrap();
        selection
    };
    assert_eq!(
        active(ToolSelection::default(), &["read"]),
        ("read,mine".to_owned(), "read,mine".to_owned())
    );
    assert_eq!(
        active(changes("+lazy"), &["read", "lazy"]),
        ("read,lazy,mine".to_owned(), "read,lazy,mine".to_owned())
    );
    assert_eq!(
        active(changes("la*"), &[]),
        ("lazy".to_owned(), "lazy".to_owned())
    );
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
                ..ToolSelection::default()
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
fn a_list_of_tools_has_patterns_or_changes_the_defaults() {
    for (list, defaults, active) in [
        ("ls,r*", DefaultTools::All, "ls,read"),
        ("*i*", DefaultTools::All, "edit,write,find,mine"),
        ("zzz*", DefaultTools::All, ""),
        (
            "+grep,-bash",
            DefaultTools::All,
            "read,edit,write,grep,mine",
        ),
        (
            "-read,+find,+read,+find,+zzz",
            DefaultTools::All,
            "bash,edit,write,find,read,mine",
        ),
        ("+grep,+mine", DefaultTools::None, "grep,mine"),
        ("+ls", DefaultTools::NoBuiltin, "ls,mine"),
    ] {
        let mut selection = ToolSelection {
            defaults,
            ..ToolSelection::default()
        };
        selection.set_list(names(list)).unwrap();
        let set = toolset(selection, None);
        assert_eq!(set.default_active(), names(active), "{list} {defaults:?}");
    }
}

#[test]
fn excluded_patterns_remove_tools() {
    let selection = ToolSelection {
        exclude: names("*i*,ls"),
        ..ToolSelection::default()
    };
    let set = toolset(selection, None);
    let exist: Vec<&str> = set.tools().iter().map(RegisteredTool::name).collect();
    assert_eq!(exist, names("read,bash,grep"));
}

#[test]
fn a_custom_tool_replaces_a_built_in_one() {
    let set = Toolset::new(ToolsetOptions {
        sources: vec![source([custom("read")])],
        ..ToolsetOptions::new("/project")
    });
    assert_eq!(set.get("read").unwrap().origin, ToolOrigin::Program);
    assert_eq!(set.get("read").unwrap().snippet, None);
    assert_eq!(set.tools().len(), 7);
    assert_eq!(set.default_active(), names("read,bash,edit,write"));
}

#[test]
fn later_sources_override_earlier_ones_while_they_have_the_tool() {
    let (first, second) = (source([custom("read"), custom("mine")]), source([]));
    let mut set = Toolset::new(ToolsetOptions {
        sources: vec![first.clone(), second.clone()],
        ..ToolsetOptions::new("/project")
    });
    let order: Vec<String> = set.tools().iter().map(|it| it.name().to_owned()).collect();
    assert_eq!(set.refresh(), None);

    let with_snippet = |name, snippet: &str| RegisteredTool {
        snippet: Some(snippet.to_owned()),
        ..custom(name)
    };
    second.add(with_snippet("mine", "second"));
    assert_eq!(set.get("mine").unwrap().snippet, None, "not read yet");
    assert_eq!(set.refresh(), Some(Vec::new()), "no new name");
    let snippet = |set: &Toolset, name| set.get(name).unwrap().snippet.clone().unwrap();
    assert_eq!(snippet(&set, "mine"), "second");
    first.add(with_snippet("mine", "first"));
    set.refresh();
    assert_eq!(snippet(&set, "mine"), "second");
    set.register(with_snippet("mine", "registered"));
    set.refresh();
    assert_eq!(snippet(&set, "mine"), "registered");

    let mut unregistered = Toolset::new(ToolsetOptions {
        sources: vec![first.clone(), second.clone()],
        ..ToolsetOptions::new("/project")
    });
    assert!(second.remove("mine") && !second.remove("mine"));
    unregistered.refresh();
    assert_eq!(snippet(&unregistered, "mine"), "first");
    assert!(first.remove("read") && first.remove("mine"));
    unregistered.refresh();
    assert_eq!(
        unregistered.get("read").unwrap().origin,
        ToolOrigin::Builtin
    );
    assert!(unregistered.get("mine").is_none());
    let names: Vec<&str> = set.tools().iter().map(RegisteredTool::name).collect();
    assert_eq!(names, order);
}

#[test]
fn flags_apply_to_tools_that_are_added_later() {
    for (allow, exclude, defaults, exists, active) in [
        (None, "", DefaultTools::All, true, "late"),
        (None, "", DefaultTools::NoBuiltin, true, "late"),
        (None, "late", DefaultTools::All, false, ""),
        (None, "", DefaultTools::None, false, ""),
        (Some("read"), "", DefaultTools::All, false, ""),
        (Some("read,late"), "", DefaultTools::All, true, "late"),
    ] {
        let added = source([]);
        let mut set = Toolset::new(ToolsetOptions {
            selection: ToolSelection {
                allow: allow.map(names),
                exclude: names(exclude),
                defaults,
                ..ToolSelection::default()
            },
            sources: vec![added.clone()],
            ..ToolsetOptions::new("/project")
        });
        added.add(custom("late"));
        assert_eq!(set.refresh(), Some(names(active)), "{allow:?} {defaults:?}");
        assert_eq!(set.get("late").is_some(), exists, "{allow:?} {defaults:?}");
    }
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
    assert_eq!(
        set.active_after_reload(&names("ls,gone"), &set),
        names("ls,mine")
    );
    let more = toolset(ToolSelection::default(), Some(&["+grep", "-read"]));
    assert_eq!(
        more.active_after_reload(&names("read,ls"), &set),
        names("read,ls,grep,mine"),
        "new defaults are activated, removed ones stay"
    );
    let allowed = toolset(
        ToolSelection {
            allow: Some(names("read,ls")),
            ..ToolSelection::default()
        },
        None,
    );
    assert_eq!(
        allowed.active_after_reload(&names("ls"), &allowed),
        names("ls,read")
    );
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
    let made = command_variables(base, &marks, Path::new("/agent/bin"));
    let expected = [
        ("AI_AGENT", "pi"),
        ("PATH", "/agent/bin:/bin"),
        ("PI_CODING_AGENT", "true"),
    ]
    .map(|(n, v)| (n.into(), v.into()));
    assert_eq!(made, Variables::from(expected));
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
