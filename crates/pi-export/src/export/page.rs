//! The HTML page: a template, a style sheet, a script, and the session as data.
//!
//! Entries are read, written and dropped one at a time. Session text never becomes markup: it is
//! embedded as JSON in `script` elements, and the content security policy allows only the page's
//! own script and no requests.

use std::io::{self, Write};

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use pi_protocol::{SessionHeader, TokenTotals, Tool};
use pi_session::{Session, SessionError, SessionTotals};
use serde::Serialize;
use sha2::{Digest, Sha256};
use thiserror::Error;

use super::HtmlOptions;
use super::outline::OutlineNode;
use super::script_json::ScriptJson;

const TEMPLATE: &str = include_str!("viewer.html");

/// Maximum size of one data element; browsers limit the length of a string.
const BLOCK_SIZE: usize = 16 << 20;

#[derive(Debug, Error)]
pub(super) enum PageError {
    #[error(transparent)]
    Write(#[from] io::Error),
    #[error(transparent)]
    Session(#[from] SessionError),
}

/// Data of the page other than the entries.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PageOverview<'a> {
    version: &'a str,
    exported_at: i64,
    header: &'a SessionHeader,
    name: Option<&'a str>,
    /// Index of the entry the conversation is at.
    leaf: Option<usize>,
    system_prompt: Option<&'a str>,
    tools: &'a [Tool],
    totals: PageTotals,
    nodes: Vec<OutlineNode>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PageTotals {
    user_messages: u64,
    assistant_messages: u64,
    tool_calls: u64,
    tokens: TokenTotals,
    cost: f64,
    models: Vec<PageModelTotals>,
}

#[derive(Serialize)]
struct PageModelTotals {
    name: String,
    tokens: u64,
    cost: f64,
}

pub(super) fn write(
    out: &mut dyn Write,
    session: &Session,
    options: &HtmlOptions,
) -> Result<(), PageError> {
    let style = pi_web::viewer_style()? + &options.theme.style_sheet();
    let script = pi_web::viewer_script()?;
    for piece in pieces(TEMPLATE) {
        match piece {
            TemplatePiece::Text(text) => out.write_all(text.as_bytes())?,
            TemplatePiece::Slot("policy") => write!(out, "{}", policy(&style, &script))?,
            TemplatePiece::Slot("scheme") => {
                write!(out, "{}", options.theme.resolved_scheme().as_str())?;
            }
            TemplatePiece::Slot("title") => {
                write!(out, "{}", escape_text(&title(session, options)))?;
            }
            TemplatePiece::Slot("style") => out.write_all(style.as_bytes())?,
            TemplatePiece::Slot("data") => write_data(out, session, options)?,
            TemplatePiece::Slot("script") => out.write_all(script.as_bytes())?,
            TemplatePiece::Slot(unknown) => {
                let message = format!("unknown template slot `{unknown}`");
                return Err(io::Error::other(message).into());
            }
        }
    }
    Ok(())
}

enum TemplatePiece<'template> {
    Text(&'template str),
    Slot(&'template str),
}

/// Splits a template at its `{{slots}}`. The inserted text is not scanned again.
fn pieces(template: &str) -> impl Iterator<Item = TemplatePiece<'_>> {
    template
        .split("{{")
        .flat_map(|part| match part.split_once("}}") {
            Some((slot, text)) => [TemplatePiece::Slot(slot), TemplatePiece::Text(text)],
            None => [TemplatePiece::Text(part), TemplatePiece::Text("")],
        })
}

/// Content security policy: allows only the page's own style and script and embedded images, and
/// blocks requests, frames and forms. Trusted Types block creating markup from strings.
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
    let tree = session.entries().tree();
    let leaf = session.leaf_id();
    let leaf = leaf.and_then(|leaf| tree.nodes.iter().rposition(|node| node.id == *leaf));
    let mut totals = SessionTotals::default();
    let mut nodes = Vec::with_capacity(tree.nodes.len());
    let mut block = 0;
    for (position, node) in tree.nodes.into_iter().enumerate() {
        // A line damaged by another program must not prevent the rest from being exported.
        let entry = session.entries().read(node.id.as_str()).ok();
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
    let overview = PageOverview {
        version: pi_env::VERSION,
        exported_at: options.env.now_ms(),
        header: session.header(),
        name: session.name(),
        leaf,
        system_prompt: options.system_prompt.as_deref(),
        tools: &options.tools,
        totals: PageTotals::from(&totals),
        nodes,
    };
    json.write(out, &overview)?;
    out.write_all(b"</script>\n")?;
    Ok(())
}

impl From<&SessionTotals> for PageTotals {
    fn from(totals: &SessionTotals) -> Self {
        let models = totals.by_model().into_iter().map(|model| PageModelTotals {
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
