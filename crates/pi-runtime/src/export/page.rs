//! The page itself: a template, a style sheet, a script, and the session as data.
//!
//! Entries are read, written and forgotten one at a time. Nothing of a session is ever markup: it
//! goes into `script` elements that hold JSON, and the page's policy lets only our own script run
//! and nothing be fetched.

use std::io::{self, Write};

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use pi_ai::Tool;
use pi_session::{Session, SessionError, SessionHeader, SessionTotals, TokenTotals};
use serde::Serialize;
use sha2::{Digest, Sha256};
use thiserror::Error;

use super::HtmlOptions;
use super::outline::OutlineNode;
use super::script_json::ScriptJson;

const TEMPLATE: &str = include_str!("viewer.html");
const STYLE: &str = include_str!("viewer.css");
const SCRIPTS: [&str; 8] = [
    include_str!("viewer/element.js"),
    include_str!("viewer/session.js"),
    include_str!("viewer/terminal_text.js"),
    include_str!("viewer/markdown.js"),
    include_str!("viewer/entry.js"),
    include_str!("viewer/transcript.js"),
    include_str!("viewer/tree.js"),
    include_str!("viewer/page.js"),
];

/// How much data one element holds; browsers limit the length of a string.
const BLOCK_SIZE: usize = 16 << 20;

/// Why a page could not be written.
#[derive(Debug, Error)]
pub(super) enum PageError {
    #[error(transparent)]
    Write(#[from] io::Error),
    #[error(transparent)]
    Session(#[from] SessionError),
}

/// What the page knows beside the entries.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Overview<'a> {
    version: &'a str,
    exported_at: i64,
    header: &'a SessionHeader,
    name: Option<&'a str>,
    /// The position of the entry the conversation stands at.
    leaf: Option<usize>,
    system_prompt: Option<&'a str>,
    tools: &'a [Tool],
    totals: Totals,
    nodes: Vec<OutlineNode>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Totals {
    user_messages: u64,
    assistant_messages: u64,
    tool_calls: u64,
    tokens: TokenTotals,
    cost: f64,
    models: Vec<ModelTotals>,
}

#[derive(Serialize)]
struct ModelTotals {
    name: String,
    tokens: u64,
    cost: f64,
}

/// Writes the page of a session.
pub(super) fn write(
    out: &mut dyn Write,
    session: &Session,
    options: &HtmlOptions,
) -> Result<(), PageError> {
    let style = format!("{STYLE}{}", options.theme.style_sheet());
    let script = SCRIPTS.join("\n");
    for piece in pieces(TEMPLATE) {
        match piece {
            Piece::Text(text) => out.write_all(text.as_bytes())?,
            Piece::Slot("policy") => write!(out, "{}", policy(&style, &script))?,
            Piece::Slot("scheme") => write!(out, "{}", options.theme.resolved_scheme().as_str())?,
            Piece::Slot("title") => write!(out, "{}", escape_text(&title(session, options)))?,
            Piece::Slot("style") => out.write_all(style.as_bytes())?,
            Piece::Slot("data") => write_data(out, session, options)?,
            Piece::Slot("script") => out.write_all(script.as_bytes())?,
            Piece::Slot(unknown) => {
                let message = format!("the template asks for `{unknown}`");
                return Err(io::Error::other(message).into());
            }
        }
    }
    Ok(())
}

enum Piece<'template> {
    Text(&'template str),
    Slot(&'template str),
}

/// Takes a template apart at its `{{slots}}`. What fills a slot is never looked at again.
fn pieces(template: &str) -> impl Iterator<Item = Piece<'_>> {
    template
        .split("{{")
        .flat_map(|part| match part.split_once("}}") {
            Some((slot, text)) => [Piece::Slot(slot), Piece::Text(text)],
            None => [Piece::Text(part), Piece::Text("")],
        })
}

/// Lets exactly our style and script take effect, pictures come from the page itself, and nothing
/// be fetched, framed or sent. Markup from text is refused even to our own script.
fn policy(style: &str, script: &str) -> String {
    let hash = |text: &str| BASE64.encode(Sha256::digest(text.as_bytes()));
    format!(
        "default-src 'none'; script-src 'sha256-{}'; style-src 'sha256-{}'; img-src data:; \
         base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; \
         trusted-types 'none'",
        hash(script),
        hash(style)
    )
}

fn title(session: &Session, options: &HtmlOptions) -> String {
    let name = session.name().unwrap_or_else(|| session.id());
    options.redaction.redact(name).into_owned()
}

fn escape_text(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

fn write_data(
    out: &mut dyn Write,
    session: &Session,
    options: &HtmlOptions,
) -> Result<(), PageError> {
    let mut json = ScriptJson::new(&options.redaction);
    let tree = session.tree();
    let leaf = session.leaf_id();
    let leaf = leaf.and_then(|leaf| tree.nodes.iter().rposition(|node| node.id == *leaf));
    let mut totals = SessionTotals::default();
    let mut nodes = Vec::with_capacity(tree.nodes.len());
    let mut block = 0;
    for (position, node) in tree.nodes.into_iter().enumerate() {
        // One line that another program damaged must not keep the rest from being exported.
        let entry = session.entry(node.id.as_str()).ok();
        let separator = match (position, block) {
            (0, _) => "<script type=\"application/json\" class=\"entries\">[\n",
            (_, block) if block > BLOCK_SIZE => {
                "\n]</script>\n<script type=\"application/json\" class=\"entries\">[\n"
            }
            _ => ",\n",
        };
        if block > BLOCK_SIZE {
            block = 0;
        }
        out.write_all(separator.as_bytes())?;
        block += json.write(out, &entry)?;
        if let Some(entry) = &entry {
            totals.add(entry);
        }
        nodes.push(OutlineNode::new(node, entry.as_deref(), &options.redaction));
    }
    if !nodes.is_empty() {
        out.write_all(b"\n]</script>\n")?;
    }
    out.write_all(b"<script type=\"application/json\" id=\"overview\">")?;
    let overview = Overview {
        version: env!("CARGO_PKG_VERSION"),
        exported_at: options.env.now_ms(),
        header: session.header(),
        name: session.name(),
        leaf,
        system_prompt: options.system_prompt.as_deref(),
        tools: &options.tools,
        totals: Totals::from(&totals),
        nodes,
    };
    json.write(out, &overview)?;
    out.write_all(b"</script>\n")?;
    Ok(())
}

impl From<&SessionTotals> for Totals {
    fn from(totals: &SessionTotals) -> Self {
        let models = totals.by_model().into_iter().map(|model| ModelTotals {
            name: model.name.clone(),
            tokens: model.tokens,
            cost: model.cost,
        });
        Self {
            user_messages: totals.user_messages,
            assistant_messages: totals.assistant_messages,
            tool_calls: totals.tool_calls,
            tokens: totals.tokens,
            cost: totals.cost,
            models: models.collect(),
        }
    }
}
