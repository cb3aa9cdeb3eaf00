//! The section of the system prompt that lists servers whose tools are not declared.

use pi_protocol::{McpExposure, McpServerSpec};

use super::ManagedServer;

/// Name of the section.
pub const MCP_SERVERS_SECTION: &str = "mcp_servers";

/// Limit for the description of a server, in characters.
const MAX_DESCRIPTION: usize = 250;

/// Limit for the section, in characters.
const MAX_SECTION: usize = 4_096;

/// A server in the section.
struct ListedServer {
    line: String,
    uses_codemode: bool,
    description: String,
}

/// Renders the section; `None` if no server belongs there.
pub(super) fn render(servers: &[ManagedServer]) -> Option<String> {
    let listed = servers.iter().filter(|server| {
        let spec = server.spec();
        spec.enabled && spec.has_indirect_tools()
    });
    let mut listed: Vec<_> = listed
        .map(|server| (server.spec(), server.instructions()))
        .collect();
    pi_protocol::sort_by(&mut listed, |(one, _), (other, _)| {
        one.name.cmp(&other.name)
    });
    let listed = listed
        .into_iter()
        .map(|(spec, instructions)| listed_server(spec, instructions.as_deref()));
    render_listed(&listed.collect::<Vec<_>>())
}

fn listed_server(spec: &McpServerSpec, instructions: Option<&str>) -> ListedServer {
    let uses_codemode = spec.may_have(McpExposure::Codemode);
    let way = if uses_codemode {
        "codemode"
    } else {
        "tool_search"
    };
    let configured = spec.description.as_deref().map(str::trim);
    let description = configured.filter(|text| !text.is_empty()).or(instructions);
    let description = description.and_then(|text| text.lines().next());
    ListedServer {
        line: format!("- {} ({way})", spec.namespace()),
        uses_codemode,
        description: description.unwrap_or_default().trim().to_owned(),
    }
}

fn render_listed(servers: &[ListedServer]) -> Option<String> {
    if servers.is_empty() {
        return None;
    }
    let mut intro = "MCP servers whose tools are not declared.".to_owned();
    if servers.iter().any(|server| server.uses_codemode) {
        intro.push_str(" Tools of `codemode` servers are called from codemode scripts.");
    }
    if servers.iter().any(|server| !server.uses_codemode) {
        intro.push_str(" Tools of `tool_search` servers are loaded with `tool_search`.");
    }
    let (kept, size) = fitting(&intro, servers)?;
    // Each description follows a colon and a space.
    let space = (MAX_SECTION.saturating_sub(size) / kept.max(1)).saturating_sub(2);
    let limit = space.min(MAX_DESCRIPTION);
    let mut lines = vec![intro];
    for server in servers.iter().take(kept) {
        let description = shortened(&server.description, limit);
        let mut line = server.line.clone();
        if !description.is_empty() {
            line.push_str(": ");
            line.push_str(&description);
        }
        lines.push(line);
    }
    lines.extend(omitted(servers.len() - kept));
    Some(lines.join("\n"))
}

/// Returns how many servers fit without descriptions, and the size of the section then.
fn fitting(intro: &str, servers: &[ListedServer]) -> Option<(usize, usize)> {
    let length = |text: &str| text.chars().count();
    let sizes = (0..=servers.len()).rev().map(|kept| {
        let lines = servers
            .iter()
            .take(kept)
            .map(|server| length(&server.line) + 1);
        let rest = omitted(servers.len() - kept);
        let rest = rest.map_or(0, |line| length(&line) + 1);
        (kept, length(intro) + lines.sum::<usize>() + rest)
    });
    let mut sizes = sizes;
    sizes.find(|(kept, size)| *kept == 0 || *size <= MAX_SECTION)
}

fn omitted(count: usize) -> Option<String> {
    let plural = if count == 1 { "" } else { "s" };
    (count > 0)
        .then(|| format!("- … {count} more server{plural}; find their tools with searchTools()"))
}

fn shortened(text: &str, limit: usize) -> String {
    if text.chars().count() <= limit {
        return text.to_owned();
    }
    if limit <= 1 {
        return String::new();
    }
    let start: String = text.chars().take(limit - 1).collect();
    format!("{}…", start.trim_end())
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn server(name: &str, uses_codemode: bool, description: &str) -> ListedServer {
        ListedServer {
            line: format!("- mcp__{name} (x)"),
            uses_codemode,
            description: description.to_owned(),
        }
    }

    #[test]
    fn only_the_ways_in_use_are_explained() {
        assert_eq!(render_listed(&[]), None);
        let text = render_listed(&[server("a", false, "Docs"), server("b", false, "")]).unwrap();
        assert!(text.contains("`tool_search`") && !text.contains("codemode"));
        assert!(text.ends_with("- mcp__a (x): Docs\n- mcp__b (x)"), "{text}");
    }

    #[test]
    fn descriptions_are_shortened() {
        let long = "é".repeat(300);
        let text = render_listed(&[server("a", true, &long)]).unwrap();
        let line = text.lines().last().unwrap();
        assert_eq!(line.chars().filter(|one| *one == 'é').count(), 249);
        assert!(line.ends_with('…'));
    }

    #[test]
    fn the_section_is_never_too_long() {
        for count in [1, 10, 100, 1_000] {
            let name = |index: usize| format!("{index:04}-{}", "n".repeat(20));
            let servers = (0..count).map(|index| server(&name(index), true, &"d".repeat(300)));
            let servers: Vec<_> = servers.collect();
            let text = render_listed(&servers).unwrap();
            assert!(text.chars().count() <= MAX_SECTION, "{count}");
            let counted = text.lines().last().unwrap().contains("more server");
            assert_eq!(counted, count > 100, "{count}");
        }
    }

    /// Tokens are estimated as a quarter of the characters, as everywhere.
    #[test]
    fn a_server_costs_few_tokens_and_its_tools_none() {
        let tokens = |count: usize| {
            let entry = serde_json::json!({"command": "x", "exposure": "deferred"});
            let servers = (0..count).map(|index| {
                let spec = pi_config::parse_mcp_server(&format!("server{index}"), &entry).unwrap();
                listed_server(&spec, None)
            });
            let servers: Vec<_> = servers.collect();
            render_listed(&servers).map_or(0, |text| text.chars().count().div_ceil(4))
        };
        assert_eq!(tokens(0), 0);
        let intro = tokens(1);
        assert!(intro <= 60, "{intro}");
        for count in [10, 100] {
            assert!(tokens(count) <= intro + (count - 1) * 30, "{count}");
            assert!(tokens(count) <= MAX_SECTION / 4, "{count}");
        }
    }
}
