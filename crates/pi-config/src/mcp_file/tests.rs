use std::{fs, io};

use pi_protocol::{McpExposure, McpTransport};
use pretty_assertions::assert_eq;
use serde_json::json;

use super::*;

struct Files {
    root: tempfile::TempDir,
}

impl Files {
    fn new(user: &str, project: &str) -> Self {
        let files = Self {
            root: tempfile::tempdir().unwrap(),
        };
        fs::create_dir_all(files.root.path().join("project/.pi")).unwrap();
        for (path, text) in [(files.user(), user), (files.project(), project)] {
            if !text.is_empty() {
                let mut file = fs::File::create(path).unwrap();
                io::Write::write_all(&mut file, text.as_bytes()).unwrap();
            }
        }
        files
    }

    fn user(&self) -> PathBuf {
        self.root.path().join("mcp.json")
    }

    fn project(&self) -> PathBuf {
        project_mcp_file(&self.root.path().join("project"))
    }

    fn load(&self, access: ProjectAccess) -> McpConfig {
        let agent_dir = AgentDir::at(self.root.path());
        load_mcp_config(McpConfigFiles {
            agent_dir: &agent_dir,
            cwd: &self.root.path().join("project"),
            project: access,
            dot_mcp_json: DotMcpJson::Ask,
            more: &[],
        })
    }
}

fn names(config: &McpConfig) -> Vec<&str> {
    let servers = config.servers.iter();
    servers.map(|server| server.spec.name.as_str()).collect()
}

#[test]
fn invalid_entries_are_reported_and_the_others_apply() {
    let user = r#"{"mcpServers": {
        "good": {"command": "x", "args": ["-y"], "extra": 1},
        "bad name": {"command": "x"},
        "no-transport": {"enabled": true},
        "old": {"type": "sse", "url": "http://a/b"},
        "half": {"command": "x", "timeout": 0},
        "a-b": {"url": "https://a/b"},
        "a_b": {"command": "x"}
    }, "autoEnableCodemode": "no"}"#;
    let config = Files::new(&format!("\u{feff}{user}"), "").load(ProjectAccess::Trusted);
    assert_eq!(names(&config), ["good", "a-b"]);
    assert_eq!(config.auto_enable_codemode, None);
    let errors = config.errors.join("\n");
    for expected in [
        "autoEnableCodemode",
        "bad name",
        "no-transport",
        "SSE",
        "timeout",
        "a_b",
    ] {
        assert!(errors.contains(expected), "{expected}: {errors}");
    }
    assert_eq!(config.servers[0].spec.config["extra"], json!(1));
}

#[test]
fn files_that_cannot_be_parsed_are_reported() {
    for text in ["{", "[]", r#"{"mcpServers": []}"#] {
        let config = Files::new(text, "").load(ProjectAccess::Trusted);
        assert_eq!(config.errors.len(), 1, "{text}");
        assert!(config.servers.is_empty());
    }
}

#[test]
fn a_project_replaces_and_overrides_entries_once_it_is_trusted() {
    let user =
        r#"{"mcpServers": {"one": {"command": "x"}, "two": {"command": "y", "env": {"A": "b"}}}}"#;
    let project = r#"{"mcpServers": {
        "one": {"url": "http://127.0.0.1/"},
        "two": {"enabled": false, "exposure": "direct"},
        "three": {"enabled": false},
        "four": {"url": "http://127.0.0.1/", "auth": {"provider": "p"}}
    }, "autoEnableCodemode": false}"#;
    let files = Files::new(user, project);
    let untrusted = files.load(ProjectAccess::Undecided);
    assert_eq!(names(&untrusted), ["one", "two"]);
    assert_eq!(untrusted.project_file, None);
    let config = files.load(ProjectAccess::Trusted);
    assert_eq!(names(&config), ["one", "two"]);
    assert_eq!(config.servers[0].scope, McpScope::Project);
    assert!(matches!(
        config.servers[0].spec.transport,
        McpTransport::Http(_)
    ));
    let two = &config.servers[1];
    assert_eq!(two.scope, McpScope::Global);
    assert_eq!(two.override_file, Some(files.project()));
    assert!(!two.spec.enabled);
    assert_eq!(two.spec.exposure, McpExposure::Direct);
    assert_eq!(two.spec.config["env"], json!({"A": "b"}));
    assert_eq!(config.auto_enable_codemode, Some(false));
    assert_eq!(config.errors.len(), 2, "{:?}", config.errors);
}

#[test]
fn an_override_cannot_set_other_options() {
    let user = r#"{"mcpServers": {"one": {"command": "x"}}}"#;
    let project = r#"{"mcpServers": {"one": {"env": {"A": "b"}}}}"#;
    let config = Files::new(user, project).load(ProjectAccess::Trusted);
    assert_eq!(config.errors.len(), 1);
    assert_eq!(config.servers[0].override_file, None);
}

#[test]
fn entries_are_validated() {
    let http = |more: Value| {
        let mut entry = json!({"url": "https://host/mcp"});
        entry
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        entry
    };
    let oauth = |oauth: Value| http(json!({"oauth": oauth}));
    for (entry, expected) in [
        (json!({"command": "x", "exposure": "open"}), "exposure"),
        (
            json!({"command": "x", "toolExposure": {"t": 1}}),
            "toolExposure",
        ),
        (json!({"command": "x", "args": [1]}), "args"),
        (json!({"command": "x", "protocol": "2030"}), "protocol"),
        (json!({"command": "x", "start": "now"}), "start"),
        (json!({"command": "x", "idleMinutes": -1}), "idleMinutes"),
        (json!({"command": "x", "sampling": "yes"}), "sampling"),
        (json!({"command": "x", "env": {"A": 1}}), "env"),
        (json!({"command": "x", "cwd": 1}), "cwd"),
        (json!({"command": "x", "type": "http"}), "needs either"),
        (json!({"url": "ftp://a/b"}), "http or https"),
        (http(json!({"headers": []})), "headers"),
        (http(json!({"auth": {}})), "auth.provider"),
        (
            json!({"url": "http://host/", "auth": {"provider": "p"}}),
            "https",
        ),
        (oauth(json!({"callbackPort": 0})), "callbackPort"),
        (
            oauth(json!({"callbackUrl": "http://host/callback"})),
            "callbackUrl",
        ),
        (
            oauth(json!({"callbackUrl": "http://127.0.0.1:1/", "callbackPort": 2})),
            "different ports",
        ),
        (oauth(json!({"clientName": " "})), "clientName"),
        (
            oauth(json!({"clientRegistration": "x"})),
            "clientRegistration",
        ),
        (
            oauth(json!({"clientRegistration": "cimd", "clientId": "c"})),
            "cannot be combined",
        ),
        (
            oauth(json!({"authServerMetadataUrl": "http://host/"})),
            "authServerMetadataUrl",
        ),
    ] {
        let error = parse_mcp_server("x", &entry).unwrap_err();
        assert!(error.contains(expected), "{entry}: {error}");
    }
    let spec = parse_mcp_server(
        "x",
        &json!({"command": "x", "exposure": "codemode-deferred"}),
    );
    assert_eq!(spec.unwrap().config["exposure"], json!("codemode"));
}

#[test]
fn edits_keep_indentation_and_other_contents() {
    let text = "{\n\t\"mcpServers\": {\n\t\t\"old\": {\"command\": \"x\", \"extra\": [1]}\n\t},\n\t\"note\": \"kept\"\n}\n";
    let files = Files::new(text, "");
    let entry = |value: Value| value.as_object().unwrap().clone();
    let path = files.user();
    assert!(!add_mcp_server(&path, "new", entry(json!({"command": "y"}))).unwrap());
    assert!(add_mcp_server(&path, "old", entry(json!({"url": "http://a/"}))).unwrap());
    assert!(remove_mcp_server(&path, "new").unwrap());
    assert!(!remove_mcp_server(&path, "new").unwrap());
    assert_eq!(
        fs::read_to_string(&path).unwrap(),
        "{\n\t\"mcpServers\": {\n\t\t\"old\": {\n\t\t\t\"url\": \"http://a/\"\n\t\t}\n\t},\n\t\"note\": \"kept\"\n}\n"
    );
}

#[test]
fn a_file_that_cannot_be_parsed_is_not_changed() {
    let files = Files::new("{oops", "");
    add_mcp_server(&files.user(), "x", JsonObject::default()).unwrap_err();
    remove_mcp_server(&files.user(), "x").unwrap_err();
    assert_eq!(fs::read_to_string(files.user()).unwrap(), "{oops");
}

#[test]
fn defaults_are_removed_from_entries_and_kept_in_overrides() {
    let user =
        r#"{"mcpServers": {"one": {"command": "x", "enabled": false, "exposure": "direct"}}}"#;
    let files = Files::new(user, "");
    let patch = McpServerPatch {
        enabled: Some(true),
        exposure: Some(McpExposure::Codemode),
    };
    update_mcp_server(&files.user(), "one", patch, PatchedEntry::Existing).unwrap();
    update_mcp_server(&files.project(), "one", patch, PatchedEntry::Override).unwrap();
    update_mcp_server(&files.user(), "two", patch, PatchedEntry::Existing).unwrap_err();
    let read = |path| serde_json::from_slice::<Value>(&fs::read(path).unwrap()).unwrap();
    assert_eq!(
        read(files.user()),
        json!({"mcpServers": {"one": {"command": "x"}}})
    );
    assert_eq!(
        read(files.project()),
        json!({"mcpServers": {"one": {"enabled": true, "exposure": "codemode"}}})
    );
}
