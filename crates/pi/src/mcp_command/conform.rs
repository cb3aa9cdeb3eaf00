//! `pi mcp conform <url>`: the client of the official conformance suite, which names the scenario in the environment.

use serde_json::Value;

use super::{McpFiles, usage};
use crate::output::{Exit, Failure};

pub(super) async fn run(files: &McpFiles, words: &[String]) -> Result<Exit, Failure> {
    let [url] = words else {
        return Err(usage("pi mcp conform needs the URL of a server"));
    };
    let text = |name: &str| files.env.var(name).unwrap_or_default();
    let context = text("MCP_CONFORMANCE_CONTEXT");
    let context: Value = serde_json::from_str(&context).unwrap_or_default();
    let connector = files.connector();
    let scenario = text("MCP_CONFORMANCE_SCENARIO");
    let outcome = pi_mcp::run_conformance_scenario(&connector.0, url, &scenario, &context);
    match Box::pin(outcome).await {
        Ok(()) => Ok(Exit::Success),
        Err(problem) => Err(Failure::new(problem)),
    }
}
