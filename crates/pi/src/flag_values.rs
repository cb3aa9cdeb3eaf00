//! Reports values of flags that name nothing, where no screen shows what was loaded.

use std::path::Path;

use pi_config::ResourceFlags;
use pi_env::Env;
use pi_host::{SessionRuntime, ToolSelection};
use pi_tools::builtin_tool_names;

use crate::edit_distance::edit_distance;
use crate::output::{Failure, warn};

/// The largest edit distance between a name and a mistyped one.
const MAX_DISTANCE: usize = 2;

/// Tools of MCP servers, which may connect later.
const MCP_PREFIX: &str = "mcp__";

/// Flags whose values name files and tools.
pub(crate) struct NamingFlags {
    tools: ToolSelection,
    resources: ResourceFlags,
}

impl NamingFlags {
    pub(crate) fn new(tools: &ToolSelection, resources: &ResourceFlags) -> Self {
        Self {
            tools: tools.clone(),
            resources: resources.clone(),
        }
    }

    /// Warns about values that name nothing.
    pub(crate) fn warn_about_unknown(&self, runtime: &SessionRuntime, cwd: &Path, env: &Env) {
        let flags = &self.resources;
        for (flag, paths) in [
            ("--skill", &flags.skills),
            ("--prompt-template", &flags.prompt_templates),
            ("--theme", &flags.themes),
        ] {
            for path in paths {
                if !exists(path, cwd, env) {
                    warn(&format!("{flag}: {path} does not exist"));
                }
            }
        }
        let tools = runtime.session().tools().all();
        let tools: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
        for warning in tool_warnings(&self.tools, &tools) {
            warn(&warning);
        }
    }
}

/// Refuses files with MCP servers that do not exist.
pub(crate) fn check_mcp_files(flags: &ResourceFlags) -> Result<(), Failure> {
    let missing = flags.mcp_config.iter().find(|file| !file.exists());
    missing.map_or(Ok(()), |file| {
        let file = file.display();
        Err(Failure::new(format!(
            "--mcp-config: the file does not exist: {file}"
        )))
    })
}

fn exists(path: &str, cwd: &Path, env: &Env) -> bool {
    let home = env.home_dir();
    match (path.strip_prefix("~/"), home) {
        (Some(rest), Some(home)) => home.join(rest).exists(),
        _ => cwd.join(path).exists(),
    }
}

/// Returns warnings about `--tools` and `--exclude-tools`. Tools may be registered later, and a list may be shared by projects
/// with different tools: only what leaves no tool, or is probably mistyped, is reported.
fn tool_warnings(selection: &ToolSelection, existing: &[&str]) -> Vec<String> {
    let mut warnings = Vec::new();
    let builtin = builtin_tool_names();
    let is_exact = |name: &&String| !name.contains('*') && !name.starts_with(MCP_PREFIX);
    if let Some(names) = &selection.allow
        && !names.is_empty()
        && names.iter().all(|name| is_exact(&name))
        && !names.iter().any(|name| existing.contains(&name.as_str()))
    {
        warnings.push(format!(
            "--tools: no tool is named {}, so the model has no tools; built-in tools are {}",
            names.join(" or "),
            builtin.join(", ")
        ));
    }
    let builtin = builtin.iter().map(String::as_str);
    let known = || existing.iter().copied().chain(builtin.clone());
    for name in selection.exclude.iter().filter(is_exact) {
        if known().any(|known| known == name) {
            continue;
        }
        let distances = known().map(|known| (edit_distance(known, name), known));
        let similar =
            distances.filter(|(distance, known)| *distance <= MAX_DISTANCE.min(known.len() / 2));
        if let Some((_, similar)) = similar.min_by_key(|(distance, _)| *distance) {
            warnings.push(format!(
                "--exclude-tools: no tool is named {name}; did you mean {similar}?"
            ));
        }
    }
    warnings
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn warnings(allow: &[&str], exclude: &[&str]) -> Vec<String> {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let selection = ToolSelection {
            allow: (!allow.is_empty()).then(|| names(allow)),
            exclude: names(exclude),
            ..ToolSelection::default()
        };
        tool_warnings(&selection, &["read", "ls", "deploy"])
    }

    #[test]
    fn mistyped_tools_are_reported() {
        assert_eq!(
            warnings(&["reed", "bsh"], &["writ", "deplo", "rea*"]),
            [
                "--tools: no tool is named reed or bsh, so the model has no tools; built-in tools are read, bash, edit, write, grep, find, ls",
                "--exclude-tools: no tool is named writ; did you mean write?",
                "--exclude-tools: no tool is named deplo; did you mean deploy?",
            ]
        );
    }

    #[test]
    fn other_tools_are_not() {
        for (allow, exclude) in [
            (&["read", "bogus"][..], &["bash", "deploy", "own_tool"][..]),
            (&["zz*"], &["mcp__reed__read", "x"]),
            (&["mcp__garden__plant"], &[]),
            (&[], &[]),
        ] {
            assert_eq!(warnings(allow, exclude), Vec::<String>::new());
        }
    }
}
