//! Markdown files with YAML front matter: a prompt template and a skill with the same text.

use std::path::Path;

use pi_config::{
    AgentDir, ResourceFlags, ResourceRequest, Resources, SettingsStore, load_resources,
};
use pi_env::Env;
use pi_protocol::ProjectAccess;
use pi_protocol::settings::Settings;
use pretty_assertions::assert_eq;

use crate::temp_files;

/// Checks that each file is either loaded or reported, that text without front matter is unchanged, and that
/// line endings make no difference.
pub fn front_matter(data: &[u8]) {
    let loaded = load(data);
    let text = String::from_utf8_lossy(data);
    match loaded.prompt_templates.as_slice() {
        [template] => {
            assert_eq!(template.name, "template");
            let complete = text.replace("\r\n", "\n").replace('\r', "\n");
            assert!(
                complete.contains(&template.content),
                "body is not part of the file"
            );
            if !text.contains("---") && !text.starts_with('\u{feff}') {
                assert_eq!(template.content, complete);
            }
        }
        [] => assert!(
            !loaded.diagnostics.is_empty(),
            "skipped without a diagnostic"
        ),
        _ => unreachable!("one file gives one template"),
    }
    if loaded.skills.is_empty() {
        assert!(
            !loaded.diagnostics.is_empty(),
            "skipped without a diagnostic"
        );
    }
    if !text.contains('\r') {
        let windows = load(text.replace('\n', "\r\n").as_bytes());
        let unix = load(text.as_bytes());
        assert_eq!(windows.prompt_templates, unix.prompt_templates);
        assert_eq!(windows.skills, unix.skills);
    }
}

fn load(bytes: &[u8]) -> Resources {
    let template = temp_files::write("templates/template.md", bytes);
    let skill = temp_files::write("skills/a-skill/SKILL.md", bytes);
    let named = |path: &Path| vec![path.to_string_lossy().into_owned()];
    load_resources(&ResourceRequest {
        agent_dir: AgentDir::at(temp_files::dir().join("no-agent")),
        cwd: temp_files::dir().join("templates"),
        env: Env::fixed::<&str, &str>([]),
        settings: SettingsStore::in_memory(Settings::default()),
        project: ProjectAccess::Denied,
        flags: ResourceFlags {
            skills: named(&skill),
            prompt_templates: named(&template),
            no_extensions: true,
            no_themes: true,
            no_context_files: true,
            ..ResourceFlags::default()
        },
    })
}
