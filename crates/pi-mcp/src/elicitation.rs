//! Questions of servers to the user: a form with a few fields, or a page to open.
//!
//! Each field is a dialog of the session, so that every client can answer. A field is asked again until its value is valid.

mod field;

use pi_protocol::json::JsonObject;
use serde_json::{Value, json};
use url::Url;

use crate::error::McpError;
use crate::servers::McpSession;
use crate::sign_in::open_url;
use field::{Field, FieldAnswer};

/// The parameters of a request are not valid.
const INVALID_PARAMS: i64 = -32602;

/// More fields than this are not asked.
const MAX_FIELDS: usize = 64;

/// Limit for the message of a server, in characters.
const MAX_MESSAGE: usize = 4_000;

const ANSWER: &str = "Answer";
const ACCEPT: &str = "Accept";
const OPEN: &str = "Open the page in the browser";
const DECLINE: &str = "Decline";
const CONTINUE: &str = "Continue";

/// More pages are not opened for one call.
const MAX_PAGES: usize = 5;

/// Asks the user and returns the result of `elicitation/create`.
pub(crate) async fn elicit(
    session: &dyn McpSession,
    server: &str,
    params: &Value,
) -> Result<Value, McpError> {
    let message = params.get("message").and_then(Value::as_str);
    let message: String = message
        .unwrap_or_default()
        .chars()
        .take(MAX_MESSAGE)
        .collect();
    match params.get("mode").and_then(Value::as_str).unwrap_or("form") {
        "form" => elicit_form(session, server, &message, params.get("requestedSchema")).await,
        "url" => elicit_page(session, server, &message, params.get("url")).await,
        mode => Err(invalid(format!("unknown mode of elicitation: {mode}"))),
    }
}

fn invalid(message: impl Into<String>) -> McpError {
    McpError::Rpc {
        code: INVALID_PARAMS,
        message: message.into(),
        data: Value::Null,
    }
}

fn declined() -> Value {
    json!({"action": "decline"})
}

/// The user closed a dialog, or what asked has ended.
pub(crate) fn canceled() -> Value {
    json!({"action": "cancel"})
}

async fn elicit_form(
    session: &dyn McpSession,
    server: &str,
    message: &str,
    schema: Option<&Value>,
) -> Result<Value, McpError> {
    let fields = fields(schema).map_err(invalid)?;
    let agree = if fields.is_empty() { ACCEPT } else { ANSWER };
    let mut title = format!("MCP server \"{server}\" asks: {message}");
    for field in &fields {
        title.push_str("\n• ");
        title.push_str(&field.summary());
    }
    let options = vec![agree.to_owned(), DECLINE.to_owned()];
    match session.select(title, options).await.as_deref() {
        Some(choice) if choice == agree => {}
        Some(_) => return Ok(declined()),
        None => return Ok(canceled()),
    }
    let mut content = JsonObject::default();
    for field in &fields {
        match field.ask(session, server).await {
            FieldAnswer::Value(value) => drop(content.insert(field.name.clone(), value)),
            FieldAnswer::Omitted => {}
            FieldAnswer::Canceled => return Ok(canceled()),
        }
    }
    Ok(json!({"action": "accept", "content": content}))
}

/// Returns the fields of a flat schema.
fn fields(schema: Option<&Value>) -> Result<Vec<Field>, String> {
    let properties = schema.and_then(|schema| schema.get("properties"));
    let Some(Value::Object(properties)) = properties else {
        return Err("requestedSchema must be an object with properties".to_owned());
    };
    if properties.len() > MAX_FIELDS {
        return Err(format!("requestedSchema has more than {MAX_FIELDS} fields"));
    }
    let required = schema.and_then(|schema| schema.get("required"));
    let is_required = |name: &str| {
        let names = required.and_then(Value::as_array);
        names.is_some_and(|names| names.iter().any(|one| one == name))
    };
    let fields = properties
        .iter()
        .map(|(name, schema)| Field::parse(name, schema, is_required(name)));
    fields.collect()
}

/// Asks whether to open a page. Nothing opens unless the user agrees.
async fn elicit_page(
    session: &dyn McpSession,
    server: &str,
    message: &str,
    url: Option<&Value>,
) -> Result<Value, McpError> {
    let url = url
        .and_then(Value::as_str)
        .and_then(|url| Url::parse(url).ok());
    let url = url.filter(|url| matches!(url.scheme(), "http" | "https"));
    let Some(url) = url.filter(Url::has_host) else {
        return Err(invalid("url must be an http or https URL"));
    };
    let host = url.host_str().unwrap_or_default();
    let title =
        format!("MCP server \"{server}\" asks you to open a page of {host}: {message}\n{url}");
    let options = vec![OPEN.to_owned(), DECLINE.to_owned()];
    match session.select(title, options).await.as_deref() {
        Some(OPEN) => {
            open_url(url.as_str());
            Ok(json!({"action": "accept"}))
        }
        Some(_) => Ok(declined()),
        None => Ok(canceled()),
    }
}

/// Lets the user visit the pages that a server requires before a call; returns whether the call may be repeated.
pub(crate) async fn visit_required_pages(
    session: &dyn McpSession,
    server: &str,
    data: &Value,
) -> bool {
    let pages = data.get("elicitations").and_then(Value::as_array);
    let pages = pages.filter(|pages| (1..=MAX_PAGES).contains(&pages.len()));
    let Some(pages) = pages else {
        return false;
    };
    for page in pages {
        let text = |key: &str| page.get(key).and_then(Value::as_str).unwrap_or_default();
        let message: String = text("message").chars().take(MAX_MESSAGE).collect();
        let visited = elicit_page(session, server, &message, page.get("url")).await;
        if !visited.is_ok_and(|answer| answer == json!({"action": "accept"})) {
            return false;
        }
    }
    let title = format!(
        "MCP server \"{server}\" waits for the page that was opened. Finish there, then continue."
    );
    let options = vec![CONTINUE.to_owned(), DECLINE.to_owned()];
    session.select(title, options).await.as_deref() == Some(CONTINUE)
}

#[cfg(test)]
mod tests;
