//! What the client can do, and what the agent offers.

use serde_json::{Value, json};

use crate::params::is_advertised;

/// The version of the protocol that this crate implements.
const PROTOCOL_VERSION: u64 = 1;

/// The ID of the sign-in method.
pub(crate) const SIGN_IN_METHOD: &str = "pi-login";

/// Arguments that open the sign-in in a terminal; clients append them to the command of the agent.
const SIGN_IN_ARGUMENT: &str = "--login";

/// What the client can do. Everything is absent until `initialize`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct ClientCapabilities {
    pub(crate) forms: bool,
    pub(crate) notices: bool,
    pub(crate) compaction: bool,
    pub(crate) boolean_options: bool,
    pub(crate) terminal_output: bool,
    pub(crate) terminal_sign_in: bool,
    pub(crate) reads_files: bool,
    pub(crate) writes_files: bool,
}

impl ClientCapabilities {
    pub(crate) fn from_params(params: &Value) -> Self {
        let Some(capabilities) = params.get("clientCapabilities") else {
            return Self::default();
        };
        let has = |path: &str| is_advertised(capabilities, path);
        Self {
            forms: has("/elicitation/form"),
            notices: has("/session/notices"),
            compaction: has("/session/compaction"),
            boolean_options: has("/session/configOptions/boolean"),
            terminal_output: has("/_meta/terminal_output"),
            terminal_sign_in: has("/auth/terminal") || has("/_meta/terminal-auth"),
            reads_files: has("/fs/readTextFile"),
            writes_files: has("/fs/writeTextFile"),
        }
    }
}

/// Returns the response to `initialize`.
pub(crate) fn initialized(client: ClientCapabilities, version: &str) -> Value {
    json!({
        "protocolVersion": PROTOCOL_VERSION,
        "agentInfo": {"name": "pi", "title": "pi", "version": version},
        "agentCapabilities": {
            "loadSession": true,
            "promptCapabilities": {"image": true, "audio": false, "embeddedContext": true},
            "mcpCapabilities": {"http": true, "sse": false},
            "sessionCapabilities": {
                "list": {},
                "resume": {},
                "close": {},
                "delete": {},
                "fork": {},
                "additionalDirectories": {},
            },
            "_meta": {"steering": {"supported": true}},
        },
        "authMethods": [sign_in_method(client)],
    })
}

fn sign_in_method(client: ClientCapabilities) -> Value {
    let description = "Sign in or add an API key with /login in a terminal";
    if client.terminal_sign_in {
        return json!({
            "type": "terminal",
            "id": SIGN_IN_METHOD,
            "name": "Sign in",
            "description": description,
            "args": [SIGN_IN_ARGUMENT],
        });
    }
    json!({"id": SIGN_IN_METHOD, "name": "Sign in", "description": description})
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn an_empty_elicitation_object_means_no_support() {
        let forms = |capabilities: Value| {
            ClientCapabilities::from_params(&json!({ "clientCapabilities": capabilities })).forms
        };
        assert!(!forms(json!({"elicitation": {}})));
        assert!(!forms(json!({"elicitation": {"url": {}}})));
        assert!(!forms(json!({"elicitation": {"form": null}})));
        assert!(forms(json!({"elicitation": {"form": {}}})));
    }

    #[test]
    fn the_terminal_method_needs_a_client_that_opens_terminals() {
        let method = |client: ClientCapabilities| {
            let initialized = initialized(client, "1");
            initialized["authMethods"][0]["type"].clone()
        };
        assert_eq!(method(ClientCapabilities::default()), Value::Null);
        let client = ClientCapabilities {
            terminal_sign_in: true,
            ..ClientCapabilities::default()
        };
        assert_eq!(method(client), json!("terminal"));
    }
}
