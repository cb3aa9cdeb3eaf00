//! Lists of a server, which it sends in pages.

use serde_json::{Map, Value, json};

use super::{Client, RequestOptions};
use crate::error::McpError;

/// Limit for the pages of a list.
const MAX_PAGES: usize = 1_000;

/// Limits for a list, over all pages.
const MAX_ITEMS: usize = 20_000;
const MAX_LIST_BYTES: usize = 64 << 20;

/// A larger declaration of a tool is ignored, in bytes.
const MAX_TOOL_BYTES: usize = 1 << 20;

/// A list that a server has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ListKind {
    Tools,
    Resources,
    ResourceTemplates,
    Prompts,
}

/// A part of a list.
#[derive(Debug, Default)]
pub(crate) struct ListPage {
    pub(crate) items: Vec<Map<String, Value>>,
    pub(crate) next_cursor: Option<String>,
}

impl ListKind {
    pub(crate) fn method(self) -> &'static str {
        match self {
            Self::Tools => "tools/list",
            Self::Resources => "resources/list",
            Self::ResourceTemplates => "resources/templates/list",
            Self::Prompts => "prompts/list",
        }
    }

    /// Returns the key of the list in results.
    pub(crate) fn key(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Resources => "resources",
            Self::ResourceTemplates => "resourceTemplates",
            Self::Prompts => "prompts",
        }
    }

    pub(super) fn parse(self, result: Value) -> Result<ListPage, McpError> {
        let invalid = || {
            McpError::protocol(format!(
                "the MCP server sent an invalid result of {}",
                self.method()
            ))
        };
        let Value::Object(mut result) = result else {
            return Err(invalid());
        };
        let Some(Value::Array(items)) = result.shift_remove(self.key()) else {
            return Err(invalid());
        };
        let items = items.into_iter().map(|item| match item {
            Value::Object(item) => self.complete(item).ok_or_else(invalid),
            _ => Err(invalid()),
        });
        let items = items.collect::<Result<_, _>>()?;
        let next_cursor = match result.shift_remove("nextCursor") {
            None | Some(Value::Null) => None,
            Some(Value::String(cursor)) => Some(cursor).filter(|cursor| !cursor.is_empty()),
            Some(_) => return Err(invalid()),
        };
        Ok(ListPage { items, next_cursor })
    }

    /// Returns an item with a name; `None` if it is invalid.
    fn complete(self, mut item: Map<String, Value>) -> Option<Map<String, Value>> {
        let address = match self {
            Self::Tools => {
                let is_valid =
                    item.get("name")?.is_string() && item.get("inputSchema")?.is_object();
                return is_valid.then_some(item);
            }
            Self::Prompts => return item.get("name")?.is_string().then_some(item),
            Self::Resources => "uri",
            Self::ResourceTemplates => "uriTemplate",
        };
        let address = item.get(address)?.as_str()?.to_owned();
        match item.get("name") {
            None => {
                item.insert("name".to_owned(), address.into());
            }
            Some(Value::String(_)) => {}
            Some(_) => return None,
        }
        Some(item)
    }
}

impl Client {
    /// Returns all items of a list.
    pub(crate) async fn list_all(
        &self,
        list: ListKind,
        options: &RequestOptions,
    ) -> Result<Vec<Map<String, Value>>, McpError> {
        let mut items = Vec::new();
        let mut bytes = 0;
        let mut cursors: Vec<String> = Vec::new();
        for _ in 0..MAX_PAGES {
            let mut page = self
                .list_page(list, cursors.last().cloned(), options.clone())
                .await?;
            if list == ListKind::Tools {
                page.items.retain(is_acceptable_tool);
            }
            bytes += page.items.iter().map(item_size).sum::<usize>();
            items.extend(page.items);
            if items.len() > MAX_ITEMS || bytes > MAX_LIST_BYTES {
                return Err(McpError::protocol(format!(
                    "{} returned more than {MAX_ITEMS} items or {} MiB",
                    list.method(),
                    MAX_LIST_BYTES >> 20
                )));
            }
            match page.next_cursor {
                None => return Ok(items),
                Some(cursor) if cursors.contains(&cursor) => {
                    return Err(McpError::protocol(format!(
                        "{} returned the same page twice",
                        list.method()
                    )));
                }
                Some(cursor) => cursors.push(cursor),
            }
        }
        Err(McpError::protocol(format!(
            "{} returned more than {MAX_PAGES} pages",
            list.method()
        )))
    }

    pub(crate) async fn list_page(
        &self,
        list: ListKind,
        cursor: Option<String>,
        options: RequestOptions,
    ) -> Result<ListPage, McpError> {
        let params = cursor.map(|cursor| json!({ "cursor": cursor }));
        let result = self.request(list.method(), params, options).await?;
        list.parse(result)
    }
}

fn is_acceptable_tool(tool: &Map<String, Value>) -> bool {
    let size = serde_json::to_vec(tool).map_or(0, |text| text.len());
    let is_acceptable = size <= MAX_TOOL_BYTES;
    if !is_acceptable {
        tracing::warn!(size, "ignored the declaration of an MCP tool: too large");
    }
    is_acceptable
}

/// Estimates the memory that an item of a list needs.
fn item_size(item: &Map<String, Value>) -> usize {
    /// For a value and, in an object, its key.
    const VALUE: usize = 64;
    fn value_size(value: &Value) -> usize {
        VALUE
            + match value {
                Value::String(text) => text.len(),
                Value::Array(items) => items.iter().map(value_size).sum(),
                Value::Object(fields) => item_size(fields),
                Value::Null | Value::Bool(_) | Value::Number(_) => 0,
            }
    }
    let fields = item.iter();
    fields
        .map(|(key, value)| key.len() + value_size(value))
        .sum()
}
