//! `/mcp` on a screen: menus that follow the state of the servers.

use pi_config::McpApproval;
use pi_protocol::{McpExposure, McpScope, McpState};

use super::pinning::fingerprint;
use super::report::short_state;
use super::{ManagedServer, McpChange, McpServers, ServersInner};
use crate::pins::describe_changes;
use crate::secrets::shown_address;

/// What a user can choose.
#[derive(Debug, Clone, PartialEq)]
struct Menu<Choice> {
    title: String,
    options: Vec<(String, Choice)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Action {
    SignIn,
    SignOut,
    ShowTools,
    Reconnect,
    ChooseExposure,
    Accept,
    Change(McpChange),
}

/// Shows the servers until the user closes the list.
pub(super) async fn run(servers: &McpServers) {
    while let Some(name) = choose(servers, || Some(list(&servers.0.inner()))).await {
        manage(servers, &name).await;
    }
}

/// Shows a server until the user goes back, or the server is gone.
async fn manage(servers: &McpServers, name: &str) {
    let menu = || server_menu(&servers.0.inner(), name);
    while let Some(action) = choose(servers, menu).await {
        match action {
            Action::SignIn => servers.log_in(name).await,
            Action::SignOut => servers.log_out(name).await,
            Action::ShowTools => {
                choose(servers, || tools(&servers.0.inner(), name)).await;
            }
            Action::ChooseExposure => {
                let menu = || exposures(&servers.0.inner(), name);
                if let Some(exposure) = choose(servers, menu).await {
                    start(servers, name, Action::Change(McpChange::Exposure(exposure)));
                }
            }
            Action::Accept => accept(servers, name).await,
            Action::Reconnect | Action::Change(_) => start(servers, name, action),
        }
    }
}

/// Shows what changed, and accepts it if the user agrees to what was shown.
async fn accept(servers: &McpServers, name: &str) {
    let menu = || changes(&servers.0.inner(), name);
    if let Some(fingerprint) = choose(servers, menu).await.flatten() {
        let outcome = servers.accept_shown(name, &fingerprint);
        if let Some(server) = servers.0.inner().find_mut(name) {
            server.message = outcome.err();
        }
        servers.0.changed();
    }
}

/// Shows the changes of a server; accepting returns their fingerprint.
fn changes(inner: &ServersInner, name: &str) -> Option<Menu<Option<String>>> {
    let changes = inner.find(name)?.changes();
    if changes.is_empty() {
        return None;
    }
    Some(Menu {
        title: format!("Changes of {name}\n{}", describe_changes(changes)),
        options: vec![
            ("Keep the changed tools withheld".to_owned(), None),
            ("Accept the changes".to_owned(), Some(fingerprint(changes))),
        ],
    })
}

/// Starts what may take long; the menu shows the state meanwhile.
fn start(servers: &McpServers, name: &str, action: Action) {
    let (all, name) = (servers.clone(), name.to_owned());
    servers.0.tasks.spawn(async move {
        let outcome = match action {
            Action::Change(change) => all.change(&name, change).await,
            // The menu shows the error.
            _ => all.reconnect(&name).await.or(Ok(())),
        };
        if let Some(server) = all.0.inner().find_mut(&name) {
            server.message = outcome.err();
        }
        all.0.changed();
    });
}

/// Shows a menu, again whenever it changes; `None` if the user closes it or there is nothing to choose.
async fn choose<Choice: Clone + PartialEq>(
    servers: &McpServers,
    menu: impl Fn() -> Option<Menu<Choice>>,
) -> Option<Choice> {
    let session = servers.0.session()?;
    let mut versions = servers.watch();
    loop {
        versions.borrow_and_update();
        let shown = menu().filter(|menu| !menu.options.is_empty())?;
        let labels = shown.options.iter().map(|(label, _)| label.clone());
        let mut selected = session.select(shown.title.clone(), labels.collect());
        loop {
            tokio::select! {
                label = &mut selected => {
                    let label = label?;
                    let mut options = shown.options.into_iter();
                    return options.find_map(|(other, choice)| (other == label).then_some(choice));
                }
                changed = versions.changed() => {
                    changed.ok()?;
                    if menu().as_ref() != Some(&shown) {
                        break;
                    }
                }
            }
        }
    }
}

/// Lists the servers, those that need the user first.
fn list(inner: &ServersInner) -> Menu<String> {
    let mut servers: Vec<&ManagedServer> = inner.servers.iter().collect();
    pi_protocol::sort_by_key(&mut servers, |server| {
        (attention(server), server.name().to_owned())
    });
    let options = servers.into_iter().map(|server| {
        let configured = &server.configured;
        let origin = match &configured.override_file {
            Some(_) => "global, project override",
            None => configured.scope.name(),
        };
        let (name, exposure) = (server.name(), server.spec().exposure);
        let state = short_state(server);
        (
            format!("{name} · {state} · {exposure} · {origin}"),
            name.to_owned(),
        )
    });
    let errors = inner.config_errors.iter();
    let errors = errors.map(|error| format!("\nconfig error: {error}"));
    let overridden = inner.overridden.iter();
    let overridden = overridden.map(|line| format!("\noverridden: {line}"));
    Menu {
        options: options.collect(),
        title: std::iter::once("MCP servers".to_owned())
            .chain(errors)
            .chain(overridden)
            .collect(),
    }
}

/// Orders servers by their need of attention.
fn attention(server: &ManagedServer) -> u8 {
    if !server.spec().enabled {
        return 5;
    }
    if !server.changes().is_empty() {
        return 0;
    }
    match server.live().map(crate::McpConnection::state) {
        Some(McpState::NeedsAuth) => 0,
        Some(McpState::Failed) => 1,
        Some(McpState::Disconnected) => 2,
        Some(McpState::Connected) => 4,
        _ => 3,
    }
}

fn server_menu(inner: &ServersInner, name: &str) -> Option<Menu<Action>> {
    let server = inner.find(name)?;
    let (configured, spec) = (&server.configured, server.spec());
    let is_shared = configured.approval != McpApproval::NotNeeded;
    let saved = match (&configured.override_file, configured.scope) {
        _ if is_shared => "this entry of .mcp.json",
        (_, McpScope::Extension) => "for this session",
        (Some(_), _) | (None, McpScope::Project) => "saved in the project's mcp.json",
        (None, McpScope::Global) => "saved in the user's mcp.json",
    };
    let status = server.live().map(crate::McpConnection::status);
    let mut options = Vec::new();
    let mut add = |label: String, action| options.push((label, action));
    if spec.enabled {
        let state = status.as_ref().map(|status| status.state);
        if state == Some(McpState::NeedsAuth) {
            add("Sign in (opens the browser)".to_owned(), Action::SignIn);
        }
        if !server.changes().is_empty() {
            let label = format!("Review changed tools ({})", server.changes().len());
            add(label, Action::Accept);
        }
        if let Some(status) = status.as_ref().filter(|it| it.state == McpState::Connected) {
            let label = format!("Tools ({} offered)", status.tools.len());
            add(label, Action::ShowTools);
        }
        if !matches!(state, None | Some(McpState::Connecting)) {
            add("Reconnect".to_owned(), Action::Reconnect);
        }
        if state == Some(McpState::Connected) && spec.uses_oauth() {
            let label = "Sign out (removes the credentials)";
            add(label.to_owned(), Action::SignOut);
        }
        let label = format!("Exposure ({})", spec.exposure);
        add(label, Action::ChooseExposure);
    }
    let enable = !spec.enabled;
    let verb = if enable { "Enable" } else { "Disable" };
    let change = Action::Change(McpChange::Enabled(enable));
    add(format!("{verb} ({saved})"), change);
    let is_global = configured.scope == McpScope::Global && configured.override_file.is_none();
    if is_global && inner.project_file.is_some() {
        let change = Action::Change(McpChange::EnabledInProject(enable));
        let label = format!("{verb} in this project (saved in the project's mcp.json)");
        add(label, change);
    }
    let error = status
        .filter(|status| status.state != McpState::Connected)
        .and_then(|status| status.error);
    let details = [
        Some(format!("MCP server {name}")),
        Some(shown_address(spec)),
        Some(format!(
            "{}: {}",
            configured.scope.name(),
            configured.source.display()
        )),
        configured
            .override_file
            .as_ref()
            .map(|file| format!("project override: {}", file.display())),
        Some(format!("State: {}", short_state(server))),
        error.filter(|error| error.contains('\n')),
        server.message.clone(),
    ];
    let details: Vec<String> = details.into_iter().flatten().collect();
    Some(Menu {
        title: details.join("\n"),
        options,
    })
}

/// Lists the tools of a server with their exposures; choosing one goes back.
fn tools(inner: &ServersInner, name: &str) -> Option<Menu<()>> {
    let server = inner.find(name)?;
    let status = server.live()?.status();
    let tools = super::report::tool_names(&status.tools).into_iter();
    let options = tools.map(|tool| {
        let exposure = server.spec().tool_exposure(&tool);
        (format!("{tool} ({exposure})"), ())
    });
    Some(Menu {
        title: format!("Tools of {name}"),
        options: options.collect(),
    })
}

fn exposures(inner: &ServersInner, name: &str) -> Option<Menu<McpExposure>> {
    let current = inner.find(name)?.spec().exposure;
    let options = McpExposure::ALL.into_iter().map(|exposure| {
        let effect = match exposure {
            McpExposure::Codemode => "called from scripts of codemode",
            McpExposure::Deferred => "loaded by tool_search",
            McpExposure::Direct => "declared to the model",
            McpExposure::Hidden => "not reachable",
        };
        let mark = if exposure == current { ", current" } else { "" };
        (format!("{exposure} ({effect}{mark})"), exposure)
    });
    Some(Menu {
        title: format!("Exposure of the tools of {name}"),
        options: options.collect(),
    })
}
