//! Checks the crate graph: which of our crates may depend on which, and which of them may use the third-party
//! crates that would let a layer do another layer's work. Then checks the size limits and that every file
//! is compiled (`limits.rs`).

use anyhow::{Context as _, Result, bail};
use cargo_metadata::{DependencyKind, Metadata, MetadataCommand, Target, TargetKind};

use crate::limits::{self, CrateSource};

/// Our crates, each with the workspace crates it may depend on.
const LAYERS: &[(&str, &[&str])] = &[
    // Also used by build scripts.
    ("pi-packed", &[]),
    // Data only: the files of pages.
    ("pi-web", &[]),
    // Files on disk; needs neither HTTP nor an async runtime.
    ("pi-fs", &[]),
    // Starts git; knows no repository of pi.
    ("pi-git", &[]),
    ("pi-protocol", &[]),
    ("pi-env", &[]),
    ("pi-http", &["pi-env", "pi-protocol"]),
    ("pi-auth", &["pi-http", "pi-env", "pi-protocol"]),
    // What providers write and sessions read.
    ("pi-stream", &["pi-protocol"]),
    (
        "pi-providers",
        &[
            "pi-auth",
            "pi-http",
            "pi-env",
            "pi-packed",
            "pi-stream",
            "pi-protocol",
        ],
    ),
    // The only crate with the AWS SDK.
    (
        "pi-bedrock",
        &["pi-providers", "pi-http", "pi-env", "pi-protocol"],
    ),
    // Image and classifier models, which do not chat.
    (
        "pi-model-tasks",
        &[
            "pi-providers",
            "pi-auth",
            "pi-http",
            "pi-env",
            "pi-packed",
            "pi-stream",
            "pi-protocol",
        ],
    ),
    ("pi-model-patterns", &["pi-providers", "pi-protocol"]),
    // Decides about calls as data.
    ("pi-permissions", &["pi-protocol"]),
    // Files on disk and the entries they belong to; knows no session.
    ("pi-checkpoint", &["pi-fs", "pi-git", "pi-protocol"]),
    // Confines processes; knows no tool and no session.
    ("pi-sandbox", &["pi-env", "pi-protocol"]),
    // Other commands, which know nothing of pi.
    ("pi-search-commands", &[]),
    ("pi-tui", &[]),
    ("pi-markdown", &["pi-tui"]),
    // Siblings never depend on each other; pi-host connects them. Only pi-tools and pi-extensions may use
    // pi-core, which defines the `Tool` trait.
    (
        "pi-config",
        &[
            "pi-providers",
            "pi-auth",
            "pi-http",
            "pi-env",
            "pi-fs",
            "pi-protocol",
        ],
    ),
    // A separate program: models on rented machines, registered in the files of pi.
    (
        "pi-pods",
        &[
            "pi-config",
            "pi-tui",
            "pi-auth",
            "pi-env",
            "pi-fs",
            "pi-protocol",
        ],
    ),
    ("pi-ext", &["pi-fs", "pi-packed"]),
    // No HTTP: reading a session file links few packages.
    ("pi-session", &["pi-env", "pi-fs", "pi-protocol"]),
    // Above pi-session: plans for what a projection contains.
    ("pi-context", &["pi-session", "pi-protocol"]),
    ("pi-core", &["pi-stream", "pi-protocol"]),
    (
        "pi-tools",
        &["pi-sandbox", "pi-core", "pi-fs", "pi-env", "pi-protocol"],
    ),
    ("pi-tool-search", &["pi-core", "pi-protocol"]),
    // Session files and their words; knows no tool.
    (
        "pi-search",
        &[
            "pi-tool-search",
            "pi-session",
            "pi-config",
            "pi-fs",
            "pi-env",
            "pi-protocol",
        ],
    ),
    // Scripts of a model; the engine stays in pi-ext.
    (
        "pi-codemode",
        &[
            "pi-ext",
            "pi-tool-search",
            // For tests, which need an environment of tools.
            "pi-tools",
            "pi-core",
            "pi-fs",
            "pi-protocol",
        ],
    ),
    // Knows a session only through its trait.
    (
        "pi-mcp",
        &[
            "pi-sandbox",
            "pi-tools",
            "pi-core",
            "pi-config",
            "pi-auth",
            "pi-http",
            "pi-env",
            "pi-fs",
            "pi-protocol",
        ],
    ),
    // Next to the runtime, not below it: inspects packages with pi-config and pi-ext.
    (
        "pi-packages",
        &[
            "pi-config",
            "pi-ext",
            "pi-http",
            "pi-env",
            "pi-fs",
            "pi-git",
            "pi-protocol",
        ],
    ),
    // What leaves the program; takes sessions as data.
    (
        "pi-export",
        &[
            "pi-config",
            "pi-session",
            "pi-providers",
            "pi-auth",
            "pi-env",
            "pi-fs",
            "pi-protocol",
            "pi-web",
        ],
    ),
    // Between a session and the JavaScript host; knows a session only through its traits.
    (
        "pi-extensions",
        &[
            "pi-ext",
            "pi-sandbox",
            "pi-tools",
            "pi-core",
            "pi-config",
            "pi-context",
            "pi-session",
            "pi-model-tasks",
            "pi-providers",
            "pi-stream",
            "pi-auth",
            "pi-http",
            "pi-env",
            "pi-protocol",
        ],
    ),
    // Framing only: used by sessions and by programs that link none.
    ("pi-lines", &[]),
    ("pi-host", RUNTIME_AND_BELOW),
    // Links no session, so that programs that start pi stay small.
    ("pi-rpc-client", &["pi-lines", "pi-protocol"]),
    // Front ends see the protocol and the host, and no crate below the host.
    ("pi-rpc", &["pi-host", "pi-rpc-client", "pi-protocol"]),
    // A separate program; no other crate depends on it.
    (
        "pi-fleet",
        &[
            "pi-rpc-client",
            "pi-lines",
            "pi-fs",
            "pi-git",
            "pi-env",
            "pi-protocol",
        ],
    ),
    ("pi-acp", &["pi-host", "pi-protocol"]),
    // Writes long answers to files.
    (
        "pi-subagents",
        &["pi-host", "pi-config", "pi-protocol", "pi-fs", "pi-git"],
    ),
    // Participants and tools of sessions, for those who turn them on.
    (
        "pi-builtins",
        &[
            "pi-subagents",
            "pi-host",
            "pi-checkpoint",
            "pi-session",
            "pi-model-tasks",
            "pi-providers",
            "pi-tools",
            "pi-core",
            "pi-config",
            "pi-protocol",
        ],
    ),
    // Keeps its credentials in a private file.
    (
        "pi-serve",
        &["pi-host", "pi-fs", "pi-packed", "pi-protocol", "pi-web"],
    ),
    // A separate program: its chat services use HTTP, and its sessions the environments of tools.
    (
        "pi-mom",
        &[
            "pi-host",
            "pi-session",
            "pi-tools",
            "pi-core",
            "pi-context",
            "pi-config",
            "pi-sandbox",
            "pi-auth",
            "pi-http",
            "pi-fs",
            "pi-env",
            "pi-protocol",
        ],
    ),
    ("pi-views", &["pi-markdown", "pi-tui", "pi-protocol"]),
    // Components of extensions, drawn off-screen.
    (
        "pi-screen",
        &["pi-host", "pi-views", "pi-tui", "pi-protocol"],
    ),
    (
        "pi-interactive",
        &[
            "pi-screen",
            "pi-host",
            "pi-views",
            "pi-markdown",
            "pi-tui",
            "pi-fs",
            "pi-env",
            "pi-protocol",
        ],
    ),
    (
        "pi",
        &[
            "pi-interactive",
            "pi-packages",
            "pi-packed",
            "pi-rpc",
            "pi-acp",
            "pi-builtins",
            "pi-serve",
            "pi-screen",
            "pi-host",
            // For `pi files` and `pi fsck`.
            "pi-checkpoint",
            // For `pi permissions`.
            "pi-permissions",
            // What a confined command starts as.
            "pi-sandbox",
            // The other commands that the program is.
            "pi-search-commands",
            // Ends commands with the process.
            "pi-tools",
            // Lists servers and signs in without a session.
            "pi-mcp",
            "pi-markdown",
            "pi-tui",
            "pi-config",
            "pi-context",
            "pi-export",
            "pi-fs",
            "pi-session",
            "pi-providers",
            "pi-auth",
            "pi-env",
            "pi-protocol",
        ],
    ),
    // Depends on no crate of ours, so that the tests of every crate can use it.
    ("pi-test-support", &[]),
    // Used by tests only.
    (
        "pi-fuzz-checks",
        &[
            "pi-acp",
            "pi-fleet",
            "pi-mom",
            "pi-serve",
            "pi-rpc",
            "pi-host",
            "pi-mcp",
            "pi-checkpoint",
            "pi-sandbox",
            "pi-permissions",
            "pi-markdown",
            "pi-tui",
            "pi-bedrock",
            "pi-config",
            "pi-session",
            "pi-providers",
            "pi-env",
            "pi-protocol",
        ],
    ),
    (
        "xtask",
        &[
            "pi-env",
            "pi-fs",
            "pi-markdown",
            "pi-protocol",
            "pi-providers",
            "pi-tui",
        ],
    ),
];

const RUNTIME_AND_BELOW: &[&str] = &[
    "pi-lines",
    "pi-codemode",
    "pi-search",
    "pi-tool-search",
    "pi-mcp",
    "pi-core",
    "pi-bedrock",
    "pi-config",
    "pi-context",
    "pi-export",
    "pi-extensions",
    "pi-session",
    "pi-tools",
    "pi-model-patterns",
    "pi-model-tasks",
    "pi-permissions",
    "pi-sandbox",
    "pi-providers",
    "pi-stream",
    "pi-auth",
    "pi-http",
    "pi-fs",
    "pi-env",
    "pi-protocol",
];

/// Allowed as a development dependency everywhere, and as a normal dependency of `xtask` only.
const TEST_SUPPORT: &str = "pi-test-support";

/// Third-party crates that only some of our crates may use.
const OWNERS: [(&str, &[&str]); 9] = [
    ("anyhow", &["pi", "xtask"]),
    ("crossterm", &["pi-tui"]),
    ("hyper", &["pi-serve"]),
    ("landlock", &["pi-sandbox"]),
    ("pulldown-cmark", &["pi-markdown", "xtask"]),
    (
        "reqwest",
        &[
            "pi-http",
            "pi-auth",
            "pi-providers",
            "pi-bedrock",
            "pi-model-tasks",
            "pi-mcp",
            "pi-ext",
            "pi-mom",
        ],
    ),
    ("rquickjs", &["pi-ext"]),
    ("seccompiler", &["pi-sandbox", "pi-test-support"]),
    ("syntect", &["pi-markdown"]),
];

/// A workspace member and the dependencies its manifest declares.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Member {
    name: String,
    dependencies: Vec<Dependency>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Dependency {
    name: String,
    purpose: Purpose,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Purpose {
    Program,
    Tests,
}

/// Checks the workspace this runs in.
pub(crate) fn run() -> Result<String> {
    let metadata = read_metadata()?;
    let members = members(&metadata);
    let violations = check(&members);
    if !violations.is_empty() {
        bail!(
            "the crate graph violates the layers:\n  {}\n\
             Move the code or define a trait in the lower crate; the table is in \
             crates/xtask/src/layers.rs",
            violations.join("\n  ")
        );
    }
    let sources = crate_sources(&metadata);
    let undeclared = limits::undeclared_files(&sources)?;
    if !undeclared.is_empty() {
        let files: Vec<String> = undeclared
            .iter()
            .map(|it| it.display().to_string())
            .collect();
        bail!(
            "no `mod` declares these files, so they are not compiled:\n  {}\n\
             Declare or delete them; tests are declared with `#[cfg(test)] mod tests;`",
            files.join("\n  ")
        );
    }
    let sizes = limits::check(&sources)?;
    if !sizes.violations.is_empty() {
        bail!(
            "{}\nthe code exceeds the limits:\n  {}\n\
             Split by responsibility; the limits are in crates/xtask/src/limits.rs",
            sizes.table,
            sizes.violations.join("\n  ")
        );
    }
    Ok(format!(
        "{} crates respect the layers and the limits\n\n{}",
        members.len(),
        sizes.table
    ))
}

fn read_metadata() -> Result<Metadata> {
    MetadataCommand::new()
        .no_deps()
        .exec()
        .context("`cargo metadata` failed")
}

/// Returns the libraries and binaries of every member; tests, benches and build scripts are not production code.
fn crate_sources(metadata: &Metadata) -> Vec<CrateSource> {
    let is_production = |target: &&Target| {
        target
            .kind
            .iter()
            .any(|kind| matches!(kind, TargetKind::Lib | TargetKind::Bin))
    };
    let sources = metadata.packages.iter().map(|package| {
        let roots = package.targets.iter().filter(is_production);
        let roots = roots.map(|target| target.src_path.clone().into_std_path_buf());
        CrateSource::new(package.name.to_string(), roots.collect())
    });
    sources.collect()
}

fn members(metadata: &Metadata) -> Vec<Member> {
    let members = metadata.packages.iter().map(|package| Member {
        name: package.name.to_string(),
        dependencies: package
            .dependencies
            .iter()
            .map(|dependency| Dependency {
                name: dependency.name.clone(),
                purpose: match dependency.kind {
                    DependencyKind::Development => Purpose::Tests,
                    _ => Purpose::Program,
                },
            })
            .collect(),
    });
    members.collect()
}

/// Returns one sentence per violation, in the order of the members.
fn check(members: &[Member]) -> Vec<String> {
    members.iter().flat_map(check_member).collect()
}

fn check_member(member: &Member) -> Vec<String> {
    let Some((_, allowed)) = LAYERS.iter().find(|(name, _)| *name == member.name) else {
        return vec![format!(
            "{} is not in the table of layers: add it with its allowed dependencies",
            member.name
        )];
    };
    member
        .dependencies
        .iter()
        .filter_map(|dependency| check_dependency(&member.name, allowed, dependency))
        .collect()
}

fn check_dependency(member: &str, allowed: &[&str], dependency: &Dependency) -> Option<String> {
    let name = dependency.name.as_str();
    if name == TEST_SUPPORT {
        return (dependency.purpose == Purpose::Program && member != "xtask")
            .then(|| format!("{member} uses {name} outside of tests"));
    }
    if let Some((_, owners)) = OWNERS.iter().find(|(owned, _)| *owned == name) {
        return (!owners.contains(&member)).then(|| {
            format!(
                "{member} uses {name}, which only {} may",
                join_names(owners)
            )
        });
    }
    let is_ours = LAYERS.iter().any(|(ours, _)| *ours == name);
    // Tests of a front end configure the host that it runs on.
    let is_for_host = dependency.purpose == Purpose::Tests
        && allowed.contains(&"pi-host")
        && RUNTIME_AND_BELOW.contains(&name);
    if !is_ours || is_for_host || allowed.contains(&name) {
        return None;
    }
    Some(match allowed {
        [] => format!("{member} depends on {name}, but may use no workspace crate"),
        allowed => format!(
            "{member} depends on {name}, but may use only {}",
            join_names(allowed)
        ),
    })
}

fn join_names(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [only] => (*only).to_owned(),
        [rest @ .., last] => format!("{} and {last}", rest.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn member(name: &str, program: &[&str], tests: &[&str]) -> Member {
        let dependency = |purpose| {
            move |name: &&str| Dependency {
                name: (*name).to_owned(),
                purpose,
            }
        };
        Member {
            name: name.to_owned(),
            dependencies: program
                .iter()
                .map(dependency(Purpose::Program))
                .chain(tests.iter().map(dependency(Purpose::Tests)))
                .collect(),
        }
    }

    #[test]
    fn a_valid_graph_has_no_violations() {
        let members = [
            member("pi-http", &["reqwest", "pi-protocol"], &["pi-test-support"]),
            member("pi-config", &["pi-auth"], &[]),
            member("pi-host", &["pi-core", "pi-tools", "pi-extensions"], &[]),
            member("pi-rpc", &["pi-host"], &["pi-providers"]),
            member("pi-tui", &["crossterm"], &[]),
            member("xtask", &["anyhow", "pi-providers"], &[]),
        ];
        assert_eq!(check(&members), Vec::<String>::new());
    }

    #[test]
    fn each_kind_of_violation_is_reported() {
        let members = [
            member("pi-protocol", &["pi-env"], &[]),
            member("pi-http", &["pi-auth"], &[]),
            member("pi-tools", &["pi-session"], &[]),
            member("pi-rpc", &["pi-tools"], &["pi-tui"]),
            member("pi-core", &["reqwest"], &["anyhow"]),
            member("pi-session", &["pi-test-support"], &["pi-test-support"]),
            member("pi-clipboard", &[], &[]),
        ];
        assert_eq!(
            check(&members),
            [
                "pi-protocol depends on pi-env, but may use no workspace crate",
                "pi-http depends on pi-auth, but may use only pi-env and pi-protocol",
                "pi-tools depends on pi-session, but may use only pi-sandbox, pi-core, pi-fs, pi-env and pi-protocol",
                "pi-rpc depends on pi-tools, but may use only pi-host, pi-rpc-client and pi-protocol",
                "pi-rpc depends on pi-tui, but may use only pi-host, pi-rpc-client and pi-protocol",
                "pi-core uses reqwest, which only pi-http, pi-auth, pi-providers, pi-bedrock, \
                 pi-model-tasks, pi-mcp, pi-ext and pi-mom may",
                "pi-core uses anyhow, which only pi and xtask may",
                "pi-session uses pi-test-support outside of tests",
                "pi-clipboard is not in the table of layers: add it with its allowed dependencies",
            ]
        );
    }

    #[test]
    fn a_front_end_sees_the_crates_below_the_host_only_in_tests() {
        let members = [
            member(
                "pi-interactive",
                &["pi-host", "pi-protocol"],
                &["pi-session"],
            ),
            member("pi-interactive", &["pi-session"], &["pi-rpc"]),
            member("pi-views", &["pi-host"], &["pi-session"]),
        ];
        assert_eq!(
            check(&members),
            [
                "pi-interactive depends on pi-session, but may use only pi-screen, pi-host, pi-views, \
                 pi-markdown, pi-tui, pi-fs, pi-env and pi-protocol",
                "pi-interactive depends on pi-rpc, but may use only pi-screen, pi-host, pi-views, \
                 pi-markdown, pi-tui, pi-fs, pi-env and pi-protocol",
                "pi-views depends on pi-host, but may use only pi-markdown, pi-tui and pi-protocol",
                "pi-views depends on pi-session, but may use only pi-markdown, pi-tui and pi-protocol",
            ]
        );
    }

    #[test]
    fn the_table_is_sorted_bottom_up_and_complete() {
        for (index, (name, allowed)) in LAYERS.iter().enumerate() {
            for below in *allowed {
                let position = LAYERS.iter().position(|(other, _)| other == below);
                assert!(
                    position.is_some_and(|position| position < index),
                    "{name} -> {below}"
                );
            }
        }
    }

    #[test]
    fn this_workspace_respects_its_layers() {
        let metadata = read_metadata().unwrap();
        assert_eq!(check(&members(&metadata)), Vec::<String>::new());
    }

    #[test]
    fn every_source_file_of_this_workspace_is_compiled() {
        let metadata = read_metadata().unwrap();
        let undeclared = limits::undeclared_files(&crate_sources(&metadata)).unwrap();
        assert_eq!(undeclared, Vec::<std::path::PathBuf>::new());
    }

    #[test]
    fn this_workspace_respects_its_limits() {
        let metadata = read_metadata().unwrap();
        let report = limits::check(&crate_sources(&metadata)).unwrap();
        assert_eq!(report.violations, Vec::<String>::new(), "{}", report.table);
    }
}
